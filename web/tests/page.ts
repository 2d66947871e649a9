// What the tests share: a page that may log no error, and the checks of axe.

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Locator, type Page } from "@playwright/test";

export { expect };

export const test = base.extend({
  page: async ({ page }, use) => {
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      // A refused request is logged by the browser itself; what the page makes of it is what tests look at.
      if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
        faults.push(message.text());
      }
    });
    await use(page);
    expect(faults).toEqual([]);
  },
});

let shots = 0;

/** No violation of WCAG 2.1 A and AA that axe can find, in both colour schemes.
 * With SCREENSHOTS=FOLDER, what was looked at lies there afterwards. */
export async function accessible(page: Page) {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await expect(page.locator("html")).toHaveAttribute("data-mantine-color-scheme", scheme);
    const { violations } = await new AxeBuilder({ page })
      .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"])
      .analyze();
    if (process.env.SCREENSHOTS) {
      const name = `${(shots += 1)}-${scheme}.png`;
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}`, fullPage: true });
    }
    expect(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`)).toEqual(
      [],
    );
  }
}

/** Nothing is wider than the window. */
export async function fits(page: Page) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(wide).toBeLessThanOrEqual(window ?? 0);
}

/** A file let go over an element, as the mouse does it. */
export async function drop(on: Locator, file: { name: string; type: string; base64: string }) {
  const data = await on.page().evaluateHandle(({ name, type, base64 }) => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    transfer.items.add(new File([bytes], name, { type }));
    return transfer;
  }, file);
  for (const event of ["dragenter", "dragover", "drop"])
    await on.dispatchEvent(event, { dataTransfer: data });
}
