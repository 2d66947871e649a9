// How near each kernel comes to what the machine can give. Loaded when first needed, since it brings a chart library.

import { useComputedColorScheme } from "@mantine/core";
import {
  CartesianGrid,
  ReferenceLine,
  ResponsiveContainer,
  Scatter,
  ScatterChart,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";

import { seconds } from "../parts/words";
import { bound, type Kernel, type Peak } from "./trace";

export default function Roofline(props: {
  kernels: readonly Kernel[];
  peak: Peak;
  chosen: string | null;
  onChoose: (kernel: string | null) => void;
}) {
  const { peak, chosen } = props;
  const dark = useComputedColorScheme("light") === "dark";
  const ink = dark ? "#a8b1bc" : "#59636e";
  const kernels = props.kernels.filter((kernel) => kernel.intensity > 0 && kernel.gflops > 0);
  const slowest = kernels[0]?.name;
  const ridge = peak.gflops / peak.gbytes_per_s;
  const left = decade(Math.min(ridge, ...kernels.map((kernel) => kernel.intensity)), Math.floor);
  const right = decade(Math.max(ridge, ...kernels.map((kernel) => kernel.intensity)), Math.ceil);
  const bottom = decade(
    Math.min(left * peak.gbytes_per_s, ...kernels.map((kernel) => kernel.gflops)),
    Math.floor,
  );
  const top = decade(Math.max(peak.gflops, ...kernels.map((kernel) => kernel.gflops)), Math.ceil);
  const words = `Roofs: ${peak.gflops.toFixed(0)} GFLOP/s and ${peak.gbytes_per_s.toFixed(1)} GB/s on ${peak.threads} threads.`;
  return (
    <figure style={{ margin: 0 }} data-testid="roofline">
      <ResponsiveContainer width="100%" height={340}>
        <ScatterChart margin={{ top: 8, right: 16, bottom: 24, left: 8 }} accessibilityLayer={false}>
          <CartesianGrid stroke={dark ? "#363c45" : "#d4d8de"} />
          <XAxis
            type="number"
            dataKey="intensity"
            name="FLOP/B"
            scale="log"
            domain={[left, right]}
            ticks={decades(left, right)}
            stroke={ink}
            label={{ value: "FLOP a byte", position: "insideBottom", offset: -12, fill: ink }}
          />
          <YAxis
            type="number"
            dataKey="gflops"
            name="GFLOP/s"
            scale="log"
            domain={[bottom, top]}
            ticks={decades(bottom, top)}
            stroke={ink}
            label={{ value: "GFLOP/s", angle: -90, position: "insideLeft", fill: ink }}
          />
          <ReferenceLine
            segment={[
              {
                x: Math.max(left, bottom / peak.gbytes_per_s),
                y: Math.max(left * peak.gbytes_per_s, bottom),
              },
              { x: ridge, y: peak.gflops },
            ]}
            stroke={ink}
            strokeWidth={2}
          />
          <ReferenceLine
            segment={[
              { x: ridge, y: peak.gflops },
              { x: right, y: peak.gflops },
            ]}
            stroke={ink}
            strokeWidth={2}
          />
          <Tooltip
            cursor={false}
            content={({ payload }) => <About kernel={payload?.[0]?.payload} peak={peak} />}
          />
          <Scatter
            data={kernels}
            isAnimationActive={false}
            shape={({ cx = 0, cy = 0, payload }: { cx?: number; cy?: number; payload?: Kernel }) => {
              if (!payload) return <g />;
              const at = payload.name === chosen;
              return (
                <g cursor="pointer" onClick={() => props.onChoose(at ? null : payload.name)}>
                  <circle
                    cx={cx}
                    cy={cy}
                    r={3 + 20 * Math.sqrt(payload.share)}
                    fill={dark ? "#79b8ff" : "#0b5cad"}
                    fillOpacity={chosen && !at ? 0.25 : 0.6}
                    stroke={at ? (dark ? "#e7eaee" : "#1b1f24") : "none"}
                    strokeWidth={2}
                  />
                  {(at || (!chosen && payload.name === slowest)) && (
                    <text
                      x={cx}
                      y={cy - 6 - 20 * Math.sqrt(payload.share)}
                      textAnchor="middle"
                      fontSize={12}
                      fill={ink}
                    >
                      {payload.name}
                    </text>
                  )}
                </g>
              );
            }}
          />
        </ScatterChart>
      </ResponsiveContainer>
      <figcaption className="ops">
        {words} A dot is a kernel, its area the share of time; one above the line found its bytes in a cache.
        The table has the figures.
      </figcaption>
    </figure>
  );
}

function About({ kernel, peak }: { kernel: Kernel | undefined; peak: Peak }) {
  if (!kernel) return null;
  const { name, ofRoof } = bound(kernel, peak);
  return (
    <div className="about">
      <strong>{kernel.name}</strong>
      <br />
      {seconds(kernel.time / 1e6)}, {kernel.gflops.toFixed(1)} GFLOP/s at {kernel.intensity.toFixed(1)} FLOP/B
      <br />
      {name}
      {ofRoof === null ? "" : `, ${(ofRoof * 100).toFixed(0)} % of its roof`}
    </div>
  );
}

const decade = (value: number, round: (power: number) => number) => 10 ** round(Math.log10(value));

function decades(from: number, to: number): number[] {
  const powers: number[] = [];
  for (let power = Math.round(Math.log10(from)); power <= Math.round(Math.log10(to)); power++)
    powers.push(10 ** power);
  return powers;
}
