// Somebody who sees the page for the first time: which kernel of a model is the slowest? docs/dashboard.md has the clicks.

import { readFile } from "node:fs/promises";

import type { APIRequestContext } from "@playwright/test";

import { expect, test } from "./page";

test("a job posted elsewhere shows by itself, and is followed to its end", async ({ page, request }) => {
  test.setTimeout(90_000);
  await page.goto("/#/jobs");
  await expect(page.getByText("connected", { exact: true })).toBeVisible();
  await page.evaluate(() => Object.assign(window, { stayed: true }));
  await upload(request, "one_slow");
  await post(request, "/v1/compile", { model: "one_slow", version: 1, targets: ["llvm"] });
  const row = page.getByTestId("jobs").getByRole("link", { name: /one_slow version 1/ });
  await expect(row).toBeVisible();
  await expect(row).toContainText("succeeded", { timeout: 60_000 });
  expect(await page.evaluate(() => "stayed" in window)).toBe(true);
});

test("six clicks from the first page to the name of the slowest kernel", async ({ page, request }) => {
  const deployment = { model: "one_slow", version: 1, targets: ["llvm"], replicas: 0, node_selector: {} };
  const deployed = await request.put("/v1/deployments/one_slow", { data: deployment });
  expect(deployed.ok(), await deployed.text()).toBe(true);
  await page.goto("/#/nodes");
  await expect(page.getByRole("region", { name: "Node local" })).toContainText("one_slow version 1");

  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const began = Date.now();
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await page.getByLabel("Model").selectOption("one_slow");
  await page.getByRole("button", { name: "Fill with zeros" }).click();
  await page.getByLabel(/^Profile/).check();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("link", { name: "Open the profile" }).click();
  await expect(page.getByTestId("slowest").locator("strong")).toHaveText("wide");
  expect(Date.now() - began).toBeLessThan(60_000);
  const first = page.getByTestId("kernels").locator("tbody tr").first();
  await expect(first).toContainText("wide");
  await expect(first).toContainText("matmul");
});

async function upload(request: APIRequestContext, name: string) {
  const text = await readFile(new URL(`models/${name}.rlx`, import.meta.url));
  const file = { name: `${name}.rlx`, mimeType: "application/octet-stream", buffer: text };
  const answer = await request.post(`/v1/models/${name}/versions`, { multipart: { model: file } });
  expect(answer.ok(), await answer.text()).toBe(true);
}

async function post(request: APIRequestContext, path: string, data: object) {
  const answer = await request.post(path, { data });
  expect(answer.ok(), await answer.text()).toBe(true);
}
