// Runs a bundle of RLX's target `wasm` in a browser, in Node or in any other host of ES modules and WebAssembly.
//
//   import { load } from "./rlx.js";
//   const model = await load();                       // the bundle beside this file; or load("https://…/bundle/")
//   const { probabilities } = model.run({ image });   // typed arrays, row-major
//
// `rlx.d.ts` gives the types of this very model.

const ALIGNMENT = 64;
const PAGE = 65536;
const ARRAYS = {
  bool: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, float16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, float32: Float32Array, float64: Float64Array,
  int64: BigInt64Array, uint64: BigUint64Array,
};
// `rlx_call` of ABI 1 with pointers of 32 bits: the offset of each field.
const CALL = {};

/** Reads one file of a bundle. Node's fetch does not take file: URLs. */
async function read(base, name) {
  const url = new URL(name, base);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Loads the bundle in the folder `base`, which is this file's own where none is named. */
export async function load(base = new URL(".", import.meta.url)) {
  const folder = new URL(String(base).replace(/\/?$/, "/"), globalThis.location?.href ?? import.meta.url);
  const manifest = JSON.parse(new TextDecoder().decode(await read(folder, "manifest.json")));
  if (manifest.target !== "wasm") throw new Error(`the bundle is for target ${manifest.target}, not wasm`);
  if (manifest.abi_version !== 1) throw new Error(`the bundle has ABI ${manifest.abi_version}, this loader takes 1`);
  const weights = manifest.weights_bytes ? await read(folder, "weights.bin") : new Uint8Array(0);
  const compiled = await WebAssembly.compile(await read(folder, "kernel.wasm"));
  const instance = await WebAssembly.instantiate(compiled, {});
  return new Model(manifest, instance.exports, weights);
}

/** A loaded model. One run at a time; it is synchronous, so call it from a worker where a page must stay responsive. */
export class Model {
  #exports; #memory; #weights; #workspace; #free;

  constructor(manifest, exports, weights) {
    this.manifest = manifest;
    this.#exports = exports;
    this.#memory = exports.memory;
    this.#weights = up(exports.__heap_base.value);
    this.#workspace = up(this.#weights + weights.length);
    this.#free = up(this.#workspace + manifest.workspace_bytes);
    this.#reserve(this.#free);
    new Uint8Array(this.#memory.buffer).set(weights, this.#weights);
  }

  /** The model's inputs: name, dtype and shape (a symbolic dimension is its name). */
  get inputs() { return this.manifest.inputs; }
  /** The model's outputs, likewise. */
  get outputs() { return this.manifest.outputs; }

  /** One inference: an array for each input by name; gives a new array for each output. */
  run(arrays) {
    const { inputs, outputs, dims } = this.manifest;
    for (const name of Object.keys(arrays)) {
      if (!inputs.some((one) => one.name === name)) throw new TypeError(`${this.manifest.model} has no input ${name}`);
    }
    const sizes = this.#sizes(arrays);
    const places = new Map();
    let end = this.#free;
    const take = (bytes) => { const at = end; end = up(end + bytes); return at; };
    for (const one of [...inputs, ...outputs]) {
      places.set(one, take(count(one, sizes) * ARRAYS[one.dtype].BYTES_PER_ELEMENT));
    }
    const call = take(CALL.size), pointers = take(4 * (inputs.length + outputs.length)), values = take(8 * dims.length);
    this.#reserve(end);
    for (const one of inputs) {
      new ARRAYS[one.dtype](this.#memory.buffer, places.get(one), count(one, sizes)).set(arrays[one.name]);
    }
    const view = new DataView(this.#memory.buffer);
    for (let at = call; at < call + CALL.size; at += 4) view.setUint32(at, 0, true);
    [...inputs, ...outputs].forEach((one, place) => view.setUint32(pointers + 4 * place, places.get(one), true));
    dims.forEach((name, place) => view.setBigInt64(values + 8 * place, BigInt(sizes.get(name)), true));
    const fields = {
      size: CALL.size, abi_version: 1, inputs: pointers, outputs: pointers + 4 * inputs.length, weights: this.#weights,
      workspace: this.#workspace, dims: values, thread_count: 1,
    };
    for (const [name, value] of Object.entries(fields)) view.setUint32(call + CALL.offsets[name], value, true);
    const status = this.#exports.rlx_main(call);
    if (status !== 0) throw new Error(`${this.manifest.model}: the compiled code answered ${status}`);
    return Object.fromEntries(outputs.map((one) =>
      [one.name, new ARRAYS[one.dtype](this.#memory.buffer, places.get(one), count(one, sizes)).slice()]));
  }

  /** Checks what is given; the value of each symbolic dimension follows from the lengths where one is open. */
  #sizes(arrays) {
    const sizes = new Map();
    for (const one of this.manifest.inputs) {
      const array = arrays[one.name];
      const wanted = ARRAYS[one.dtype];
      if (!(array instanceof wanted)) throw new TypeError(`input ${one.name} must be a ${wanted.name} (${one.dtype})`);
      const open = one.shape.filter((dim) => typeof dim === "string" && !sizes.has(dim));
      const known = count({ ...one, shape: one.shape.filter((dim) => !open.includes(dim)) }, sizes);
      if (open.length === 1 && known) sizes.set(open[0], array.length / known);
      if (open.length > 1 || array.length !== count(one, sizes)) {
        throw new RangeError(`input ${one.name} has ${array.length} elements, its shape is ${one.shape.join(" × ")}`);
      }
    }
    return sizes;
  }

  #reserve(bytes) {
    const missing = Math.ceil((bytes - this.#memory.buffer.byteLength) / PAGE);
    if (missing > 0) this.#memory.grow(missing);
  }
}

function up(address) { return Math.ceil(address / ALIGNMENT) * ALIGNMENT; }

function count(one, sizes) {
  return one.shape.reduce((product, dim) => product * (typeof dim === "string" ? sizes.get(dim) : dim), 1);
}
