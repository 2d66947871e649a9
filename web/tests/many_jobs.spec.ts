// What the page costs: its first load, and a list of 10,000 jobs that scrolls. The jobs are answered by the test.

import { gzipSync } from "node:zlib";

import type { Response } from "@playwright/test";

import { expect, test } from "./page";

const JOBS = 10_000;
const STATES = ["succeeded", "failed", "cancelled", "succeeded", "succeeded"];

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

function job(number: number) {
  const created = new Date(Date.UTC(2030, 0, 1) - number * 60_000).toISOString();
  const state = STATES[number % STATES.length];
  const task = {
    id: `t${number}`,
    target: "llvm",
    cpu: "x86-64-v3",
    state,
    attempts: [],
    created_at: created,
  };
  return {
    id: `j${number}`,
    state,
    model: `network-${number}`,
    version: 1,
    program_digest: "0".repeat(64),
    options: { opt_level: 3, strict: false, fallback_to_ddr: false, dims: {} },
    tasks: [task, { ...task, id: `u${number}`, target: "c" }],
    created_at: created,
    ended_at: created,
  };
}

test("the first load is at most 300 KB of gzip", async ({ page }) => {
  const loaded: Response[] = [];
  page.on("response", (response) => {
    if (/\.(js|css|html)$|\/$/.test(new URL(response.url()).pathname)) loaded.push(response);
  });
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const contents = await Promise.all(loaded.map((response) => response.body()));
  const sizes = contents.map((content) => gzipSync(content).length);
  expect(sizes.length).toBeGreaterThanOrEqual(3);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`first load: ${(total / 1000).toFixed(0)} kB of gzip`);
  expect(total).toBeLessThanOrEqual(300_000);
  // And so it travels; what fits in one packet is not worth it.
  for (const [place, response] of loaded.entries()) {
    if ((contents[place]?.length ?? 0) > 1000)
      expect(response.headers()["content-encoding"], response.url()).toBe("gzip");
  }
  // The chart library comes with the page that draws a chart.
  expect(contents.some((content) => content.includes("recharts-wrapper"))).toBe(false);
});

test("10,000 jobs scroll without a frame over 50 ms, in under 2,000 nodes", async ({ page, browser }) => {
  test.setTimeout(120_000);
  await page.route("**/v1/jobs?*", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const from = Number(query.get("cursor") ?? 0);
    const to = Math.min(JOBS, from + Number(query.get("limit")));
    const items = Array.from({ length: to - from }, (_, place) => job(from + place));
    return route.fulfill({ json: { items, next: to < JOBS ? String(to) : null } });
  });
  await page.goto("/#/jobs");
  const list = page.getByTestId("jobs");
  await expect(list.locator("li").first()).toBeVisible();
  // The reader comes to the end of what is there until there is no more.
  await expect
    .poll(
      async () => {
        await list.evaluate((element) => (element.scrollTop = element.scrollHeight));
        return list.locator("li").last().getAttribute("aria-posinset");
      },
      { timeout: 60_000, intervals: [50] },
    )
    .toBe(String(JOBS));
  await list.evaluate((element) => (element.scrollTop = 0));
  await expect(list.locator("li").first()).toHaveAttribute("aria-posinset", "1");

  await browser.startTracing(page, { categories: ["devtools.timeline", "toplevel", "benchmark"] });
  const frames = await list.evaluate(async (element) => {
    const times: number[] = [];
    const step = element.scrollHeight / 200;
    for (let frame = 0; frame < 200; frame++) {
      times.push(await new Promise<number>(requestAnimationFrame));
      element.scrollTop += step;
    }
    return times.slice(1).map((time, place) => time - (times[place] ?? time));
  });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  await expect(list.locator("li").last()).toHaveAttribute("aria-posinset", String(JOBS));
  const main = new Set(
    traceEvents
      .filter((event) => event.args?.name === "CrRendererMain")
      .map((event) => `${event.pid} ${event.tid}`),
  );
  // Processor time, so that what else runs on the machine does not count.
  const tasks = traceEvents
    .filter(
      (event) => event.ph === "X" && event.name.endsWith("RunTask") && main.has(`${event.pid} ${event.tid}`),
    )
    .map((event) => (event.tdur ?? event.dur ?? 0) / 1000);
  const longest = Math.max(...tasks);
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  console.log(
    `10,000 jobs: ${tasks.length} tasks, longest ${longest.toFixed(1)} ms; longest frame ${Math.max(...frames).toFixed(1)} ms; ${nodes} nodes`,
  );
  expect(tasks.length).toBeGreaterThan(100);
  expect(longest).toBeLessThan(50);
  expect(nodes).toBeLessThan(2000);
});
