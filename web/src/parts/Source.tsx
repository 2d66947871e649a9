import { Text } from "@mantine/core";
import { Fragment, useEffect, useRef } from "react";

/** So many lines are shown of a longer text: the LLVM IR of a network has tens of thousands, and a browser would choke. */
const LINES = 4000;

/** A text with line numbers; `line` is marked and scrolled to. */
export function Source({ text, line, label }: { text: string; line?: number | null; label: string }) {
  const marked = useRef<HTMLSpanElement>(null);
  const box = useRef<HTMLDivElement>(null);
  // Within its own box: the page around it stays where the reader has it.
  useEffect(() => {
    if (box.current && marked.current)
      box.current.scrollTop = marked.current.offsetTop - box.current.clientHeight / 2;
  }, [line, text]);
  const lines = text.replace(/\n$/, "").split("\n");
  const first = Math.max(0, Math.min((line ?? 0) - LINES / 2, lines.length - LINES));
  return (
    <div ref={box} className="scroll source-box" role="region" tabIndex={0} aria-label={label}>
      <pre className="source">
        {lines.slice(first, first + LINES).map((content, place) => {
          const number = first + place + 1;
          const at = line === number;
          return (
            <Fragment key={number}>
              <span className="number">{number}</span>
              <span className={at ? "at" : undefined} ref={at ? marked : undefined}>
                {content || " "}
              </span>
            </Fragment>
          );
        })}
      </pre>
      {lines.length > LINES && (
        <Text size="sm" p="xs" c="dimmed">
          Lines {first + 1} to {first + LINES} of {lines.length}; the download has all.
        </Text>
      )}
    </div>
  );
}
