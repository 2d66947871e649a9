// Classifies a photo in the page: the bundle of target `wasm` is in bundle/, the names of the classes in labels.txt.
import { load } from "./bundle/rlx.js";

const SIZE = 224, SHORT_SIDE = 256;
const element = (id) => document.getElementById(id);
const canvas = element("seen");

/** The middle of the photo as the network was trained to see it: short side to 256, 224 × 224 of it; a photo of that
 *  size is taken as it is. */
function draw(photo) {
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const { width, height } = photo;
  const scale = width === SIZE && height === SIZE ? 1 : SHORT_SIDE / Math.min(width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(photo, (SIZE - width * scale) / 2, (SIZE - height * scale) / 2, width * scale, height * scale);
  return context.getImageData(0, 0, SIZE, SIZE).data;
}

/** float32 [1, 3, 224, 224]: (pixel − 127) ÷ 128, a plane for each colour. */
function planes(pixels) {
  const image = new Float32Array(3 * SIZE * SIZE);
  for (let place = 0; place < SIZE * SIZE; place++) {
    for (let colour = 0; colour < 3; colour++) {
      image[colour * SIZE * SIZE + place] = (pixels[4 * place + colour] - 127) / 128;
    }
  }
  return image;
}

const [model, labels] = await Promise.all([
  load(new URL("bundle/", import.meta.url)),
  fetch("labels.txt").then((response) => response.text()).then((text) => text.trim().split("\n")),
]);

async function classify(blob) {
  const image = planes(draw(await createImageBitmap(blob, { colorSpaceConversion: "none" })));
  const start = performance.now();
  const { probabilities } = model.run({ image });
  const milliseconds = performance.now() - start;
  const best = [...probabilities.keys()].sort((a, b) => probabilities[b] - probabilities[a]).slice(0, 5);
  const rows = best.map((index) => ({ label: labels[index], probability: probabilities[index] }));
  element("classes").replaceChildren(...rows.map(({ label, probability }) => {
    const row = document.createElement("li");
    row.textContent = `${label} ${(100 * probability).toFixed(1)} %`;
    return row;
  }));
  element("state").textContent = `${milliseconds.toFixed(0)} ms`;
  return { classes: rows, milliseconds };
}

element("state").textContent = "ready";
element("file").addEventListener("change", (event) => classify(event.target.files[0]));

// `?photo=URL` classifies that one at once; `&report=URL` sends what came out there.
const asked = new URLSearchParams(location.search);
if (asked.has("photo")) {
  const answer = await classify(await (await fetch(asked.get("photo"))).blob());
  if (asked.has("report")) await fetch(asked.get("report"), { method: "POST", body: JSON.stringify(answer) });
}
