import globalData from "@csstools/postcss-global-data";
import react from "@vitejs/plugin-react";
import customMedia from "postcss-custom-media";
import { defineConfig } from "vitest/config";

const api = "http://127.0.0.1:8000";

const COMMON =
  /node_modules\/(react|react-dom|react-router|scheduler|openapi-fetch|@tanstack\/(query-core|react-query))\/|src\/(lib\/(api|address|format|states|stored)|components\/(button|icons|loadable|notice|page-header|status|text|toast))/;

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  css: { postcss: { plugins: [globalData({ files: ["src/styles/breakpoints.css"] }), customMedia()] } },
  server: { host: "127.0.0.1", proxy: { "/v1": api, "/docs": api } },
  build: {
    target: "es2023",
    sourcemap: true,
    // One file holds the code of every page. Over HTTP/1.1 a browser requests six at a time, and a round costs a phone 0.15 s.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "base", test: COMMON }] } } },
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
