import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `make up` answers on 8000; RLX_ENDPOINT names another stack for `npm run dev`.
const stack = process.env.RLX_ENDPOINT ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "./",
  plugins: [react()],
  server: { proxy: { "/v1": stack, "/v2": stack } },
  build: { target: "es2022", chunkSizeWarningLimit: 700 },
});
