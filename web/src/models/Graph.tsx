// The IR as a graph: inputs, ops and outputs from top to bottom. Loaded when first opened, since it brings a library.

import "@xyflow/react/dist/style.css";

import { graphlib, layout } from "@dagrejs/dagre";
import { Text, TextInput, useComputedColorScheme } from "@mantine/core";
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  type ReactFlowInstance,
} from "@xyflow/react";
import { useId, useMemo, useRef, useState } from "react";

import type { Program, ProgramNode, TensorInfo } from "../api/client";
import { Source } from "../parts/Source";
import { shape } from "../parts/words";

const WIDTH = 220;
const HEIGHT = 66;

/** What a box says: the op or the kind of end, the value's name and shape. */
interface Box extends Record<string, unknown> {
  readonly title: string;
  readonly name: string;
  readonly shape: string;
  readonly kind: "op" | "op edge" | "op scheduled";
}
type BoxNode = Node<Box, "box">;

const TYPES = { box: BoxView };

export default function Graph({ program }: { program: Program }) {
  const scheme = useComputedColorScheme("light");
  const { nodes, edges } = useMemo(() => placed(program), [program]);
  const [chosen, setChosen] = useState<string | null>(null);
  const flow = useRef<ReactFlowInstance<BoxNode> | null>(null);
  const shown: BoxNode[] = useMemo(
    () => nodes.map((node) => ({ ...node, selected: node.id === chosen })),
    [nodes, chosen],
  );
  const op = program.nodes.find((node) => node.results[0]?.name === chosen);
  const find = (id: string) => {
    if (!nodes.some((node) => node.id === id)) return;
    setChosen(id);
    void flow.current?.fitView({ nodes: [{ id }], maxZoom: 1 });
  };
  return (
    <>
      <Find program={program} onFind={find} />
      <div className="graph" data-testid="graph">
        <ReactFlow
          nodes={shown}
          edges={edges}
          nodeTypes={TYPES}
          colorMode={scheme}
          fitView
          fitViewOptions={{ maxZoom: 1, minZoom: 0.6, nodes: nodes.slice(0, 6) }}
          minZoom={0.05}
          nodesDraggable={false}
          nodesConnectable={false}
          onlyRenderVisibleElements
          onInit={(instance) => (flow.current = instance)}
          onNodesChange={(changes) => {
            for (const change of changes)
              if (change.type === "select" && change.selected) setChosen(change.id);
          }}
          onPaneClick={() => setChosen(null)}
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

function BoxView({ data, selected }: NodeProps<BoxNode>) {
  return (
    <div className={selected ? `${data.kind} at` : data.kind}>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <div>
        <strong>{data.title}</strong>
      </div>
      <div>{data.name}</div>
      <div className="shape mono">{data.shape}</div>
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </div>
  );
}

/** A name goes to its box; the browser offers those that fit what is typed. */
function Find({ program, onFind }: { program: Program; onFind: (id: string) => void }) {
  const list = useId();
  return (
    <>
      <TextInput
        label="Find a value"
        placeholder={program.nodes[0]?.results[0]?.name}
        list={list}
        onChange={(event) => onFind(event.currentTarget.value)}
        maw={360}
        mb="sm"
      />
      <datalist id={list}>
        {program.nodes.map((node) => (
          <option key={node.results[0]?.name} value={node.results[0]?.name}>
            {node.op}
          </option>
        ))}
      </datalist>
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
        {op.operands.filter(Boolean).join(", ")}
        {attributes.map(([name, value]) => `, ${name}=${value}`)})
        {op.scheduled ? ", scheduled by its author" : ""}
      </Text>
      {op.line && <Source text={text} line={op.line} label="Where it stands in the text" />}
    </section>
  );
}

/** Constants are left out: a network has hundreds, and the text names them. */
function placed(program: Program): { nodes: BoxNode[]; edges: Edge[] } {
  const graph = new graphlib.Graph().setGraph({ nodesep: 24, ranksep: 34 }).setDefaultEdgeLabel(() => ({}));
  const boxes = new Map<string, Box>();
  const producer = new Map<string, string>();
  const add = (id: string, title: string, kind: Box["kind"], name: string, tensor?: TensorInfo) => {
    boxes.set(id, { title, name, kind, shape: tensor ? `${tensor.dtype}${shape(tensor.shape)}` : "" });
    graph.setNode(id, { width: WIDTH, height: HEIGHT });
  };
  for (const input of program.inputs) {
    add(input.name, "input", "op edge", input.name, input);
    producer.set(input.name, input.name);
  }
  for (const node of program.nodes) {
    const id = node.results[0]?.name ?? node.op;
    add(id, node.op, node.scheduled ? "op scheduled" : "op", id, node.results[0]);
    for (const result of node.results) producer.set(result.name, id);
    for (const operand of node.operands) {
      const from = operand && producer.get(operand);
      if (from) graph.setEdge(from, id);
    }
  }
  for (const output of program.outputs) {
    const id = `→ ${output.name}`;
    add(id, "output", "op edge", output.name);
    const from = producer.get(output.value);
    if (from) graph.setEdge(from, id);
  }
  layout(graph);
  const nodes = [...boxes].map(([id, data]): BoxNode => {
    const { x, y } = graph.node(id);
    const position = { x: x - WIDTH / 2, y: y - HEIGHT / 2 };
    const ariaLabel = `${data.title} ${data.name} ${data.shape}`;
    return { id, type: "box", position, data, width: WIDTH, height: HEIGHT, ariaLabel };
  });
  const edges = graph.edges().map(({ v, w }) => ({
    id: `${v} ${w}`,
    source: v,
    target: w,
    focusable: false,
    markerEnd: { type: MarkerType.ArrowClosed },
  }));
  return { nodes, edges };
}
