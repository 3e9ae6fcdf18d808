import globalData from "@csstools/postcss-global-data";
import react from "@vitejs/plugin-react";
import customMedia from "postcss-custom-media";
import { defineConfig } from "vitest/config";

const api = "http://127.0.0.1:8000";

/** The code that most pages need. Over HTTP/1.1 a browser requests six files at a time, and a round costs a phone 0.15 s. */
const COMMON = [
  /node_modules\/(react|react-dom|react-router|scheduler|openapi-fetch|@tanstack\/(query-core|react-query))\/|rolldown\/runtime/,
  /src\/lib\/(api|address|format|states|stored)/,
  /src\/components\/(button|card|choice|icons|loadable|menu|notice|overlay-button|page-header|popover|search-box|status|table|text|toast)/,
  /src\/charts\/(palette|series|charts\.module)/,
];

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true },
  css: { postcss: { plugins: [globalData({ files: ["src/styles/breakpoints.css"] }), customMedia()] } },
  server: { host: "127.0.0.1", proxy: { "/v1": api, "/docs": api } },
  build: {
    target: "es2023",
    sourcemap: true,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "base", test: (id) => COMMON.some((part) => part.test(id)) }] } },
    },
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
