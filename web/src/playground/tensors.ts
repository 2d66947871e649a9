// Tensors of the page: made from JSON or from a picture, and read from an answer. Pure, apart from decoding a picture.

import type { Tensor, TensorInfo } from "../api/client";

/** What `POST /v1/infer` takes for one input. */
export type Given = Pick<Tensor, "dtype" | "shape"> & ({ data: unknown } | { b64: string });

/** How colour bytes become numbers: `(byte − mean) / scale`, by channel. */
export const SCALINGS = {
  "0 … 1": { mean: [0, 0, 0], scale: [255, 255, 255] },
  "−1 … 1": { mean: [127.5, 127.5, 127.5], scale: [127.5, 127.5, 127.5] },
  "(x − 127) / 128": { mean: [127, 127, 127], scale: [128, 128, 128] },
  "0 … 255": { mean: [0, 0, 0], scale: [1, 1, 1] },
  ImageNet: { mean: [123.675, 116.28, 103.53], scale: [58.395, 57.12, 57.375] },
} as const;
export type Scaling = keyof typeof SCALINGS;

export interface Picture {
  readonly height: number;
  readonly width: number;
  readonly channelsFirst: boolean;
}

/** The input as a colour picture, [1, 3, H, W] or [1, H, W, 3] of floats; null where it is none. */
export function asPicture(input: TensorInfo): Picture | null {
  const [batch, a, b, c] = input.shape;
  if (input.shape.length !== 4 || (batch !== 1 && typeof batch !== "string") || input.dtype !== "float32")
    return null;
  if (a === 3 && typeof b === "number" && typeof c === "number")
    return { height: b, width: c, channelsFirst: true };
  if (c === 3 && typeof a === "number" && typeof b === "number")
    return { height: a, width: b, channelsFirst: false };
  return null;
}

/** Pixels in RGBA, row by row, as the tensor that the model takes. */
export function fromPixels(rgba: Uint8ClampedArray, to: Picture, scaling: Scaling): Given {
  const { mean, scale } = SCALINGS[scaling];
  const pixels = to.height * to.width;
  const values = new Float32Array(3 * pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    for (const channel of [0, 1, 2] as const) {
      const place = to.channelsFirst ? channel * pixels + pixel : 3 * pixel + channel;
      values[place] = ((rgba[4 * pixel + channel] ?? 0) - mean[channel]) / scale[channel];
    }
  }
  const shape = to.channelsFirst ? [1, 3, to.height, to.width] : [1, to.height, to.width, 3];
  return { dtype: "float32", shape, b64: base64(new Uint8Array(values.buffer)) };
}

/** The middle of the picture, as large as it goes in the model's proportions, scaled to the model's size. */
export async function pixelsOf(file: Blob, to: Picture): Promise<Uint8ClampedArray> {
  const image = await createImageBitmap(file).catch(() => {
    throw new Error("This file is no picture that the browser can read.");
  });
  const zoom = Math.min(image.width / to.width, image.height / to.height);
  const [width, height] = [to.width * zoom, to.height * zoom];
  const canvas = new OffscreenCanvas(to.width, to.height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("The browser gives no canvas.");
  context.imageSmoothingQuality = "high";
  const [left, top] = [(image.width - width) / 2, (image.height - height) / 2];
  context.drawImage(image, left, top, width, height, 0, 0, to.width, to.height);
  return context.getImageData(0, 0, to.width, to.height).data;
}

/** A JSON text as a tensor: a number, a list (nested or flat), or `{dtype?, shape?, data | b64}`. */
export function fromJson(text: string, input: TensorInfo): Given {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const given = value as Partial<Tensor>;
    const dtype = given.dtype ?? input.dtype;
    if (given.b64 != null) return { dtype, shape: given.shape ?? known(input), b64: given.b64 };
    return { dtype, shape: given.shape ?? shapeOf(given.data, input), data: given.data };
  }
  return { dtype: input.dtype, shape: shapeOf(value, input), data: value };
}

/** The nesting's own shape where it has the input's rank, else the input's. */
function shapeOf(data: unknown, input: TensorInfo): number[] {
  const nested: number[] = [];
  for (let part = data; Array.isArray(part); part = part[0]) nested.push(part.length);
  return nested.length === input.shape.length ? nested : known(input);
}

function known(input: TensorInfo): number[] {
  const symbol = input.shape.find((dim) => typeof dim === "string");
  if (symbol !== undefined)
    throw new Error(`${input.name} has a free size ${symbol}: nest the lists, or give a shape.`);
  return input.shape as number[];
}

/** A starting point to type over: zeros in the input's shape, a free size being 1. */
export function zeros(input: TensorInfo): string {
  const shape = input.shape.map((dim) => (typeof dim === "number" ? dim : 1));
  const size = shape.reduce((product, dim) => product * dim, 1);
  const zero = input.dtype === "bool" ? false : 0;
  return JSON.stringify({ shape, data: Array.from({ length: size }, () => zero) });
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

const ARRAYS: Record<string, new (buffer: ArrayBuffer) => ArrayLike<number | bigint>> = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

/** The elements of an answer, flat; null for a dtype that the page cannot read from base64. */
export function elements(tensor: Tensor): readonly number[] | null {
  if (tensor.b64 == null) return (tensor.data as unknown[]).flat(Infinity).map(Number);
  const array = ARRAYS[tensor.dtype];
  if (!array) return null;
  const bytes = Uint8Array.from(atob(tensor.b64), (character) => character.charCodeAt(0));
  return Array.from(new array(bytes.buffer), Number);
}

/** The `count` largest elements with their places, largest first. */
export function largest(
  values: readonly number[],
  count: number,
): readonly { place: number; value: number }[] {
  const all = values.map((value, place) => ({ place, value }));
  return all.sort((a, b) => b.value - a.value).slice(0, count);
}
