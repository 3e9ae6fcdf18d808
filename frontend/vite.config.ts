import globalData from "@csstools/postcss-global-data";
import react from "@vitejs/plugin-react";
import customMedia from "postcss-custom-media";
import { defineConfig } from "vitest/config";

const api = "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  css: { postcss: { plugins: [globalData({ files: ["src/styles/breakpoints.css"] }), customMedia()] } },
  server: { host: "127.0.0.1", proxy: { "/v1": api, "/docs": api } },
  build: { target: "es2023", sourcemap: true },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
