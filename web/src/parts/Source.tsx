import { Fragment, useEffect, useRef } from "react";

/** A program's text with line numbers; `line` is marked and scrolled to. */
export function Source({ text, line, label }: { text: string; line?: number | null; label: string }) {
  const marked = useRef<HTMLSpanElement>(null);
  useEffect(() => marked.current?.scrollIntoView({ block: "center" }), [line, text]);
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <div className="scroll" style={{ maxHeight: "70dvh" }} role="region" tabIndex={0} aria-label={label}>
      <pre className="source">
        {lines.map((content, index) => (
          <Fragment key={index}>
            <span className="number">{index + 1}</span>
            <span
              className={line === index + 1 ? "at" : undefined}
              ref={line === index + 1 ? marked : undefined}
            >
              {content || " "}
            </span>
          </Fragment>
        ))}
      </pre>
    </div>
  );
}
