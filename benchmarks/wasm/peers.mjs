// Times bundles of target `wasm` beside onnxruntime-web (wasm, one thread) in this Node, in turns.
//
//   node peers.mjs MODEL.onnx INPUT.f32 ROUNDS BUNDLE…
//
// INPUT holds the elements of the one input. Prints one line of JSON: for each peer its outputs and its milliseconds.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [model, input, rounds, ...bundles] = process.argv.slice(2);
const bytes = await readFile(input);
const image = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);

async function onnxruntime() {
  const ort = await import("onnxruntime-web/wasm");
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(new Uint8Array(await readFile(model)), {
    executionProviders: ["wasm"], graphOptimizationLevel: "all",
  });
  const feeds = { image: new ort.Tensor("float32", image, [1, 3, 224, 224]) };
  return { name: "onnxruntime-web", run: async () => {
    const outputs = await session.run(feeds);
    return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.data]));
  } };
}

async function rlx(bundle) {
  const folder = pathToFileURL(resolve(bundle) + "/");
  const { load } = await import(new URL("rlx.js", folder));
  const loaded = await load(folder);
  return { name: bundle, run: async () => loaded.run({ image }) };
}

const peers = [await onnxruntime(), ...(await Promise.all(bundles.map(rlx)))];
const results = peers.map((peer) => ({ name: peer.name, milliseconds: [], outputs: {} }));
for (let round = 0; round < Number(rounds) + 3; round++) {
  for (const [place, peer] of peers.entries()) {
    const start = performance.now();
    const outputs = await peer.run();
    const took = performance.now() - start;
    // An engine compiles hot code again in its first runs.
    if (round >= 3) results[place].milliseconds.push(took);
    results[place].outputs = Object.fromEntries(Object.entries(outputs).map(([name, data]) => [name, Array.from(data)]));
  }
}
console.log(JSON.stringify(results));
