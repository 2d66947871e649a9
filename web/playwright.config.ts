import { defineConfig } from "@playwright/test";

// Workers read this file again and must find the same port, so it is handed on in the environment.
process.env.RLX_WEB_PORT ??= String(20_000 + 5 * (process.pid % 4_000));
const url = `http://127.0.0.1:${process.env.RLX_WEB_PORT}`;

export default defineConfig({
  testDir: "tests",
  fullyParallel: false,
  workers: 1,
  timeout: 120_000,
  // Generous, since nothing here tests how fast a busy machine is; what passes does not wait for it.
  expect: { timeout: 40_000 },
  forbidOnly: !!process.env.CI,
  reporter: "list",
  use: {
    baseURL: url,
    browserName: "chromium",
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      // Tests run as root on CI, where the sandbox refuses; the rest keeps the browser from talking to anybody.
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
      ].concat(["--disable-component-update", "--disable-sync"]),
    },
  },
  webServer: {
    command: `${process.env.PYTHON ?? "../.venv/bin/python"} tests/stack.py ${process.env.RLX_WEB_PORT}`,
    url: `${url}/v1/health/live`,
    gracefulShutdown: { signal: "SIGTERM", timeout: 30_000 },
    timeout: 120_000,
    stdout: "ignore",
    stderr: "ignore",
  },
});
