import { Button, Group, Text, Title, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";

import { seconds } from "../parts/words";
import { extent, type Run, type Span, type Trace, type View } from "./trace";

const LANE = 34;
const AXIS = 24;
const LEAST = 0.1; // microseconds across the whole width

/** Who worked on what when: a lane for each thread. Wheel, drag, pinch-free keys and buttons move and zoom it. */
export function Timeline(props: {
  trace: Trace;
  run: Run;
  runs: ReactNode;
  chosen: string | null;
  onChoose: (kernel: string | null) => void;
}) {
  const { trace, run, chosen, onChoose } = props;
  const whole: View = { from: 0, to: Math.max(run.duration, LEAST) };
  const [view, setView] = useState(whole);
  const [under, setUnder] = useState<Span | null>(null);
  const { ref: box, width } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);
  const dark = useComputedColorScheme("light") === "dark";
  const height = AXIS + LANE * trace.threads.length;

  const kept = ({ from, to }: View): View => {
    const span = Math.min(Math.max(to - from, LEAST), whole.to);
    const start = Math.min(Math.max(0, from), whole.to - span);
    return { from: start, to: start + span };
  };
  const zoom = (factor: number, at = 0.5) =>
    setView(({ from, to }) => {
      const pivot = from + (to - from) * at;
      return kept({ from: pivot - (pivot - from) * factor, to: pivot + (to - pivot) * factor });
    });
  const move = (share: number) =>
    setView(({ from, to }) => kept({ from: from + (to - from) * share, to: to + (to - from) * share }));

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context && width > 0) draw(context, width, height, { trace, run, view, chosen, dark });
  }, [width, height, trace, run, view, chosen, dark]);

  // React listens to wheels passively, so that they could not be kept from scrolling the page.
  const zooming = useRef(zoom);
  zooming.current = zoom;
  useEffect(() => {
    const element = canvas.current;
    const turned = (event: WheelEvent) => {
      if (!event.ctrlKey && Math.abs(event.deltaY) < Math.abs(event.deltaX)) return;
      event.preventDefault();
      zooming.current(2 ** (event.deltaY / 300), event.offsetX / Math.max(1, element?.clientWidth ?? 1));
    };
    element?.addEventListener("wheel", turned, { passive: false });
    return () => element?.removeEventListener("wheel", turned);
  }, []);

  const at = (event: PointerEvent): Span | null => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const time = view.from + ((event.clientX - left) / width) * (view.to - view.from);
    const thread = trace.threads[Math.floor((event.clientY - top - AXIS) / LANE)];
    return run.spans.find((span) => span.thread === thread && span.start <= time && time <= span.end) ?? null;
  };
  const moved = (event: PointerEvent) => {
    if (!drag.current) {
      setUnder(at(event));
      return;
    }
    const { x, view: began } = drag.current;
    const far = ((x - event.clientX) / width) * (began.to - began.from);
    if (Math.abs(x - event.clientX) > 3) drag.current.moved = true;
    setView(kept({ from: began.from + far, to: began.to + far }));
  };
  const released = (event: PointerEvent) => {
    if (drag.current && !drag.current.moved) onChoose(at(event)?.kernel ?? null);
    drag.current = null;
  };
  const key = (event: KeyboardEvent) => {
    const act = {
      ArrowLeft: () => move(-0.2),
      ArrowRight: () => move(0.2),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      "0": () => setView(whole),
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  };
  const shares = run.spans.filter((span) => span.kernel === chosen);
  const toChosen = () => {
    const { from, to } = extent(shares);
    setView(kept({ from: from - (to - from) / 8, to: to + (to - from) / 8 }));
  };
  return (
    <section aria-label="Timeline">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5">
          Timeline
        </Title>
        <Group gap="xs">
          {props.runs}
          {shares.length > 0 && (
            <Button size="compact-sm" variant="default" onClick={toChosen}>
              To the chosen kernel
            </Button>
          )}
          <Button size="compact-sm" variant="default" aria-label="Zoom out" onClick={() => zoom(2)}>
            −
          </Button>
          <Button size="compact-sm" variant="default" aria-label="Zoom in" onClick={() => zoom(0.5)}>
            +
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setView(whole)}>
            All
          </Button>
        </Group>
      </Group>
      <div ref={box}>
        <canvas
          ref={canvas}
          className="timeline"
          style={{ height }}
          tabIndex={0}
          role="img"
          aria-label={`${trace.threads.length} threads, ${seconds(view.from / 1e6)} to ${seconds(view.to / 1e6)}. Arrows move, plus and minus zoom, 0 shows all; the table has the same figures.`}
          data-testid="timeline"
          data-span={view.to - view.from}
          onKeyDown={key}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = { x: event.clientX, view, moved: false };
          }}
          onPointerMove={moved}
          onPointerUp={released}
          onPointerLeave={() => setUnder(null)}
        />
      </div>
      <Text size="sm" c="dimmed" mih="1.5rem" className="breaking">
        {under
          ? `${under.kernel}, thread ${under.thread}: ${seconds((under.end - under.start) / 1e6)} from ${seconds(under.start / 1e6)}`
          : "A lane for each thread. Wheel to zoom, drag to move, click a kernel to find it in the table."}
      </Text>
    </section>
  );
}

interface Picture {
  readonly trace: Trace;
  readonly run: Run;
  readonly view: View;
  readonly chosen: string | null;
  readonly dark: boolean;
}

function draw(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  { trace, run, view, chosen, dark }: Picture,
) {
  const density = window.devicePixelRatio || 1;
  context.canvas.width = Math.round(width * density);
  context.canvas.height = Math.round(height * density);
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  const x = (time: number) => ((time - view.from) / (view.to - view.from)) * width;

  context.fillStyle = context.strokeStyle = dark ? "#a8b1bc" : "#59636e";
  const step = niceStep((view.to - view.from) / Math.max(2, Math.floor(width / 110)));
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    context.fillRect(x(time), AXIS - 5, 1, 5);
    context.fillText(tick(time, step, view.to), x(time) + 3, AXIS / 2);
  }
  const order = new Map(trace.kernels.map((kernel, place) => [kernel.name, place]));
  for (const span of run.spans) {
    if (span.end < view.from || span.start > view.to) continue;
    const left = Math.max(-1, x(span.start));
    const wide = Math.max(1, Math.min(width + 1, x(span.end)) - left - 0.5);
    const top = AXIS + LANE * trace.threads.indexOf(span.thread) + 2;
    // Neighbours in time get hues far apart; the chosen kernel stands out by lightness as well.
    const hue = ((order.get(span.kernel) ?? 0) * 137.5) % 360;
    const at = span.kernel === chosen;
    context.globalAlpha = chosen && !at ? 0.3 : 1;
    context.fillStyle = `hsl(${hue} 45% ${dark ? 32 : 82}%)`;
    context.fillRect(left, top, wide, LANE - 6);
    if (at) {
      context.strokeStyle = dark ? "#e7eaee" : "#1b1f24";
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(1, wide - 2), LANE - 8);
    }
    if (wide > 40) {
      context.save();
      context.beginPath();
      context.rect(left + 4, top, wide - 8, LANE);
      context.clip();
      context.fillStyle = dark ? "#ffffff" : "#1b1f24";
      context.fillText(span.kernel, Math.max(left, 0) + 5, top + (LANE - 6) / 2);
      context.restore();
    }
  }
  context.globalAlpha = 1;
}

/** A time in microseconds, in the unit of the last one, to as many digits as tell it from its neighbour a step away. */
function tick(time: number, step: number, last: number): string {
  const [unit, size] = last >= 1e6 ? ["s", 1e6] : last >= 1e3 ? ["ms", 1e3] : ["µs", 1];
  return `${(time / size).toFixed(Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9)))} ${unit}`;
}

/** 1, 2 or 5 times a power of ten, at least `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * (([1, 2, 5, 10] as const).find((digit) => digit * power >= least) ?? 10);
}
