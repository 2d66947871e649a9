// The main path on the real stack: upload, live compile, a failed compile, inference, profile.

import { fileURLToPath } from "node:url";

import { accessible, drop, expect, fits, test } from "./page";

const model = (name: string) => fileURLToPath(new URL(`models/${name}`, import.meta.url));

test.describe.configure({ mode: "serial" });

test("a server without anything says how to begin", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByText("No job yet.")).toBeVisible();
  await accessible(page);
  for (const name of ["Models", "Playground", "Profiles"]) {
    await page.getByRole("link", { name, exact: true }).click();
    await expect(page.getByTestId("empty")).toBeVisible();
  }
});

test("a text that does not hold together is shown with its caret", async ({ page }) => {
  await page.goto("/#/models");
  await page.getByRole("button", { name: "Upload a model" }).click();
  await page.getByLabel("Choose files").setInputFiles(model("broken.rlx"));
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await expect(page.getByTestId("caret")).toContainText("^^^^^^^^");
  await expect(page.getByTestId("caret")).toContainText("did you mean 'relu'?");
  await accessible(page);
});

test("an upload is compiled live, deployed, asked and profiled", async ({ page }) => {
  test.setTimeout(180_000);
  await page.goto("/#/models");
  await page.getByRole("button", { name: "Upload a model" }).click();
  await page.getByLabel("Choose files").setInputFiles(model("small.rlx"));
  await expect(page.getByLabel("Name of the model")).toHaveValue("small");
  await page.getByRole("button", { name: "Upload", exact: true }).click();

  await expect(page.getByRole("heading", { name: "small version 1" })).toBeVisible();
  await expect(page.getByTestId("graph")).toContainText("conv2d");
  await page.getByLabel("Find a value").fill("logits");
  await expect(page.getByRole("region", { name: "Op logits" })).toContainText(
    "logits = rlx.matmul(flat, weight)",
  );
  await accessible(page);
  await page.getByRole("tab", { name: "Text" }).click();
  await expect(page.getByRole("region", { name: "Text of small.rlx" })).toContainText("rlx.softmax(logits)");

  await page.getByRole("button", { name: "Compile", exact: true }).click();
  await expect(page.getByRole("heading", { name: "small version 1" })).toBeVisible();
  await expect(page.getByTestId("job-state")).toContainText("succeeded", { timeout: 90_000 });
  const log = page.getByTestId("log");
  await expect(log).toContainText("llvm: running (attempt 1)");
  await expect(log).toContainText("job: succeeded");
  await page.getByTestId("task-llvm").getByRole("tab", { name: "Compile report" }).click();
  await page
    .getByRole("button", { name: /conv2d/ })
    .first()
    .click();
  await expect(page.getByTestId("reasons").locator("li").first()).toBeVisible();
  await accessible(page);

  await page
    .getByRole("link", { name: /^artifact/ })
    .first()
    .click();
  await page.getByRole("tab", { name: "Files" }).click();
  await page.getByRole("button", { name: "Read report.json" }).click();
  await expect(page.getByRole("region", { name: "report.json" })).toContainText('"kernels"');
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: /^Download/ }).click();
  expect(await (await download).failure()).toBeNull();
  await accessible(page);

  await page.goto("/#/models/small");
  await page
    .getByRole("button", { name: "Deploy c, llvm" })
    .or(page.getByRole("button", { name: /^Deploy/ }))
    .click();
  await expect(page.getByTestId("deployed")).toContainText("Deployed for");
  await page.goto("/#/nodes");
  await expect(page.getByRole("region", { name: "Node local" })).toContainText("small version 1 for llvm");
  await accessible(page);

  await page.getByRole("link", { name: "Playground", exact: true }).click();
  const input = page.getByRole("group", { name: "Drop an image or a JSON here." });
  await drop(input, { name: "red.png", type: "image/png", base64: await redPicture(page) });
  await expect(page.getByRole("img", { name: "red.png" })).toBeVisible();
  await page.getByLabel("Target").selectOption("llvm");
  await page.getByLabel("Profile, in 5 runs").check();
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByTestId("answer")).toContainText("cpu:0 of node local, version 1 for llvm");
  await expect(page.getByRole("region", { name: /^Output/ })).toContainText("float32[1, 8]");
  await accessible(page);

  await page.getByRole("link", { name: "Open the profile" }).click();
  await expect(page.getByTestId("slowest")).toContainText("Slowest kernel:");
  await expect(page.getByTestId("slowest")).toContainText(/ % of what (memory|arithmetic) allows/);
  await expect(page.getByLabel("Run", { exact: true }).locator("option")).toHaveCount(5);
  const kernels = page.getByTestId("kernels").locator("tbody tr");
  const slowest = await page.getByTestId("slowest").locator("strong").innerText();
  await expect(kernels.first()).toContainText(slowest);
  await expect(page.getByTestId("roofline")).toContainText("GFLOP/s");
  const timeline = page.getByTestId("timeline");
  const whole = Number(await timeline.getAttribute("data-span"));
  await timeline.focus();
  await page.keyboard.press("+");
  expect(Number(await timeline.getAttribute("data-span"))).toBeCloseTo(whole / 2, 3);
  await page.keyboard.press("0");
  await kernels.first().getByRole("button").click();
  await page.getByRole("button", { name: "To the chosen kernel" }).click();
  expect(Number(await timeline.getAttribute("data-span"))).toBeLessThan(whole);
  await accessible(page);
});

test("an input can be typed as JSON, and a wrong one says what is wrong with it", async ({ page }) => {
  await page.goto("/#/playground?model=small");
  await page.getByLabel("JSON", { exact: true }).fill("[1, 2");
  await expect(page.getByRole("button", { name: "Run" })).toBeDisabled();
  const zeros = { shape: [1, 3, 64, 64], data: Array.from({ length: 3 * 64 * 64 }, () => 0) };
  await drop(page.getByRole("group", { name: "Drop an image or a JSON here." }), {
    name: "zeros.json",
    type: "application/json",
    base64: Buffer.from(JSON.stringify(zeros)).toString("base64"),
  });
  await page.getByRole("button", { name: "Run" }).click();
  // All filters are linear and nothing is added: a black picture gives every class the same share.
  await expect(page.getByRole("region", { name: /^Output/ })).toContainText("[0.125, 0.125");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByRole("button", { name: "Fill with zeros" }).click();
  await expect(page.getByRole("button", { name: "Run" })).toBeEnabled();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("JSON", { exact: true }).fill("[1, 2, 3]");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByRole("alert")).toContainText("RLX-E4");
});

test("a compile that fails shows its caret, and the way to the line", async ({ page }) => {
  await page.goto("/#/models");
  await page.getByRole("button", { name: "Upload a model" }).click();
  await page.getByLabel("Choose files").setInputFiles(model("high_bandwidth.rlx"));
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  await page.getByLabel("Targets").fill("c");
  await page.getByLabel("strict memory").check();
  await page.getByRole("button", { name: "Compile", exact: true }).click();
  await expect(page.getByTestId("job-state")).toContainText("failed", { timeout: 60_000 });
  await expect(page.getByTestId("caret")).toContainText("memory_affinity mismatch on tensor x");
  await expect(page.getByTestId("caret")).toContainText("|     ^");
  await accessible(page);
  await page.getByRole("link", { name: "Open line 4 of the source" }).click();
  await expect(page.locator(".source .at")).toContainText('{"location": "HBM"}');
});

test("every page fits a narrow window", async ({ page }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  for (const path of ["jobs", "models", "models/small", "nodes", "playground?model=small", "profiles"]) {
    await page.goto(`/#/${path}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await fits(page);
  }
  await page.getByRole("table", { name: "Profiles" }).getByRole("link").first().click();
  await expect(page.getByTestId("slowest")).toBeVisible();
  await fits(page);
  await page.getByRole("button", { name: "Navigation" }).click();
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await expect(page.getByTestId("jobs").locator("li").first()).toBeVisible();
  await accessible(page);
});

test("the keyboard is enough: skip to the content, walk the jobs, open one", async ({ page }) => {
  await page.goto("/#/jobs");
  const rows = page.getByTestId("jobs").locator("a");
  await expect(rows).toHaveCount(2);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab"); // the filter
  await page.keyboard.press("Tab");
  await expect(rows.first()).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(rows.nth(1)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("job-state")).toBeVisible();
});

async function redPicture(page: import("@playwright/test").Page): Promise<string> {
  const url = await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    canvas.width = 80;
    canvas.height = 60;
    const context = canvas.getContext("2d");
    if (!context) throw new Error("no canvas");
    context.fillStyle = "red";
    context.fillRect(0, 0, 80, 60);
    return canvas.toDataURL("image/png");
  });
  return url.split(",")[1] ?? "";
}
