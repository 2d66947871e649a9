// The IR as a graph: inputs, ops and outputs from top to bottom. Loaded when first opened, since it brings a library.

import "@xyflow/react/dist/style.css";

import { graphlib, layout } from "@dagrejs/dagre";
import { Text, useComputedColorScheme } from "@mantine/core";
import { Background, Controls, type Edge, type Node, ReactFlow } from "@xyflow/react";
import { useMemo, useState } from "react";

import type { Program, ProgramNode, TensorInfo } from "../api/client";
import { Source } from "../parts/Source";
import { shape } from "../parts/words";

const WIDTH = 190;
const HEIGHT = 58;

export default function Graph({ program }: { program: Program }) {
  const scheme = useComputedColorScheme("light");
  const { nodes, edges } = useMemo(() => placed(program), [program]);
  const [chosen, setChosen] = useState<string | null>(null);
  const op = program.nodes.find((node) => node.results[0]?.name === chosen);
  return (
    <>
      <div className="graph" data-testid="graph">
        <ReactFlow
          nodes={nodes}
          edges={edges}
          colorMode={scheme}
          fitView
          fitViewOptions={{ maxZoom: 1, minZoom: 0.6, nodes: nodes.slice(0, 6) }}
          minZoom={0.05}
          nodesDraggable={false}
          nodesConnectable={false}
          onlyRenderVisibleElements
          onSelectionChange={({ nodes: [first] }) => setChosen(first?.id ?? null)}
          aria-label="Graph of the program"
        >
          <Background />
          <Controls showInteractive={false} />
        </ReactFlow>
      </div>
      {op ? <Chosen op={op} text={program.text} /> : <Hint program={program} />}
    </>
  );
}

function Hint({ program }: { program: Program }) {
  return (
    <Text size="sm" c="dimmed" mt="xs">
      {program.nodes.length} ops, {program.constants.length} constants. Choose an op to see its line; drag to
      move, scroll or + and − to zoom, Tab and Enter from the keyboard.
    </Text>
  );
}

function Chosen({ op, text }: { op: ProgramNode; text: string }) {
  const attributes = Object.entries(op.attributes ?? {});
  return (
    <section aria-label={`Op ${op.results[0]?.name}`}>
      <Text size="sm" my="xs" className="mono breaking">
        {op.results.map((one) => `${one.name}: ${one.dtype}${shape(one.shape)}`).join(", ")} = {op.op}(
        {op.operands.filter(Boolean).join(", ")}){attributes.map(([name, value]) => `, ${name}=${value}`)}
        {op.scheduled ? ", scheduled by its author" : ""}
      </Text>
      {op.line && <Source text={text} line={op.line} label="Where it stands in the text" />}
    </section>
  );
}

/** Constants are left out: a network has hundreds, and the text names them. */
function placed(program: Program): { nodes: Node[]; edges: Edge[] } {
  const graph = new graphlib.Graph().setGraph({ nodesep: 24, ranksep: 34 }).setDefaultEdgeLabel(() => ({}));
  const labels = new Map<string, string>();
  const producer = new Map<string, string>();
  const add = (id: string, title: string, tensor?: TensorInfo) => {
    labels.set(id, tensor ? `${title}\n${shape(tensor.shape)}` : title);
    graph.setNode(id, { width: WIDTH, height: HEIGHT });
  };
  for (const input of program.inputs) {
    add(input.name, `input ${input.name}`, input);
    producer.set(input.name, input.name);
  }
  for (const node of program.nodes) {
    const id = node.results[0]?.name ?? node.op;
    add(id, `${node.op}  ${id}`, node.results[0]);
    for (const result of node.results) producer.set(result.name, id);
    for (const operand of node.operands) {
      const from = operand && producer.get(operand);
      if (from) graph.setEdge(from, id);
    }
  }
  for (const output of program.outputs) {
    const id = `→ ${output.name}`;
    add(id, `output ${output.name}`);
    const from = producer.get(output.value);
    if (from) graph.setEdge(from, id);
  }
  layout(graph);
  const nodes = [...labels].map(([id, label]) => {
    const { x, y } = graph.node(id);
    const style = { width: WIDTH, height: HEIGHT, whiteSpace: "pre-line" as const, padding: 6, fontSize: 12 };
    const position = { x: x - WIDTH / 2, y: y - HEIGHT / 2 };
    return {
      id,
      position,
      data: { label },
      style,
      width: WIDTH,
      height: HEIGHT,
      ariaLabel: label.replace("\n", " "),
    };
  });
  const edges = graph
    .edges()
    .map(({ v, w }) => ({ id: `${v} ${w}`, source: v, target: w, focusable: false }));
  return { nodes, edges };
}
