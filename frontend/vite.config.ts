import globalData from "@csstools/postcss-global-data";
import react from "@vitejs/plugin-react";
import customMedia from "postcss-custom-media";
import { defineConfig } from "vitest/config";

const api = "http://127.0.0.1:8000";

/** The code that most pages need. Over HTTP/1.1 a browser requests six files at a time, and a round costs a phone 0.15 s. */
const COMMON = [
  /node_modules\/(react|react-dom|react-router|scheduler|openapi-fetch|@tanstack\/(query-core|react-query))\/|rolldown\/runtime/,
  /src\/lib\/(api\/(?!fields\.gen)|address|format|names|permissions|read-only|states|stored|visible)/,
  /src\/components\/(button|card|choice|copy-read-only-link|icons|loadable|menu|notice|overlay-button|page-header|popover|search-box|segmented|status|table|tabs|text|toast)/,
  /src\/charts\/(palette|series|charts\.module)/,
];

const production = decodeURI(new URL("node_modules/react-router/dist/production/index.mjs", import.meta.url).pathname);
/** The exports of the router name its development build only, whose warnings are part of it. */
const PRODUCTION = [{ find: /^react-router$/, replacement: production }];

export default defineConfig({
  plugins: [react()],
  resolve: { tsconfigPaths: true, alias: PRODUCTION },
  css: { postcss: { plugins: [globalData({ files: ["src/styles/breakpoints.css"] }), customMedia()] } },
  server: { host: "127.0.0.1", proxy: { "/v1": api, "/docs": api } },
  build: {
    target: "es2023",
    sourcemap: true,
    modulePreload: {
      // A part that is loaded later need not name what every page has loaded.
      resolveDependencies: (_, files, { hostType }) =>
        hostType === "js" ? files.filter((file) => !/\/(base|index|rolldown-runtime)-[^/]+\.js$/.test(file)) : files,
    },
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "base", test: (id) => COMMON.some((part) => part.test(id)) }] } },
    },
  },
  test: { environment: "node", include: ["src/**/*.test.ts"] },
});
