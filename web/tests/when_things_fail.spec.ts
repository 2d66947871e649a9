// What the page says when it may not, cannot, or must not: no key, no server, nothing there. The refusals are the test's.

import { accessible, expect, fits, test } from "./page";

const UNAUTHORISED = {
  status: 401,
  contentType: "application/problem+json",
  json: {
    type: "about:blank",
    title: "Unauthorized",
    status: 401,
    detail: "no key was given",
    code: "RLX-E418",
  },
};

test("without a session the page asks for a key, says a wrong one is wrong, and goes on with the right one", async ({
  page,
}) => {
  let open = false;
  await page.route("**/v1/**", (route) => {
    if (!route.request().url().endsWith("/v1/session"))
      return open ? route.fallback() : route.fulfill(UNAUTHORISED);
    open = (route.request().postDataJSON() as { key: string }).key === "right";
    return open ? route.fulfill({ status: 204 }) : route.fulfill(UNAUTHORISED);
  });
  await page.goto("/#/models");
  await expect(page.getByRole("heading", { name: "This server asks for a key" })).toBeVisible();
  await expect(page.getByText("signed out")).toBeVisible();
  await accessible(page);
  await page.getByLabel("API key").fill("wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("The server does not know this key.")).toBeVisible();
  await page.getByLabel("API key").fill("right");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading", { name: "Models" })).toBeVisible();
  await expect(page.getByText("connected", { exact: true })).toBeVisible();
});

test("a server that is away is named, and is back with one press", async ({ page }) => {
  await page.goto("/#/nodes");
  await expect(page.getByRole("region", { name: "Node local" })).toBeVisible();
  await page.route("**/v1/**", (route) => route.abort("connectionrefused"));
  await page.getByRole("link", { name: "Models", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("The server does not answer.");
  await accessible(page);
  await page.unroute("**/v1/**");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("button", { name: "Upload a model" })).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("what is not there is said to be not there", async ({ page }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  for (const [path, says] of [
    ["jobs/nothing", "RLX-E"],
    ["models/nothing", "RLX-E"],
    ["profiles/nothing", "RLX-E"],
    [`artifacts/${"0".repeat(64)}`, "RLX-E"],
  ] as const) {
    await page.goto(`/#/${path}`);
    await expect(page.getByRole("alert")).toContainText(says);
    await fits(page);
  }
  await page.goto("/#/nowhere");
  await expect(page.getByText("There is no such page.")).toBeVisible();
  await page.getByRole("link", { name: "To the jobs" }).click();
  await expect(page.getByRole("heading", { name: "Compile jobs" })).toBeVisible();
});
