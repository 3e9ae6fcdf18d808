import js from "@eslint/js";
import importX, { createNodeResolver } from "eslint-plugin-import-x";
import hooks from "eslint-plugin-react-hooks";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript-eslint";

const root = fileURLToPath(new URL(".", import.meta.url));
const src = (path) => `./src/${path}`;

// app → features → components → lib, and a feature never reaches into another one.
const layers = [
  { target: src("lib"), from: [src("api"), src("components"), src("features"), src("app")] },
  { target: src("api"), from: [src("components"), src("features"), src("app")] },
  { target: src("components"), from: [src("features"), src("app")] },
  { target: src("features"), from: src("app") },
  ...readdirSync(new URL("./src/features", import.meta.url)).map((name) => ({
    target: src(`features/${name}`),
    from: src("features"),
    except: [`./${name}`],
  })),
];

export default ts.config(
  { ignores: ["dist", "src/api/schema.gen.ts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [...ts.configs.strictTypeChecked, hooks.configs.flat.recommended],
    plugins: { "import-x": importX },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    settings: {
      "import-x/resolver-next": [
        createNodeResolver({ extensions: [".ts", ".tsx", ".js"], alias: { "@": [`${root}src`] } }),
      ],
    },
    rules: {
      "import-x/no-restricted-paths": ["error", { basePath: root, zones: layers }],
      "import-x/no-cycle": "error",
      "max-lines": ["error", { max: 200 }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  { files: ["*.config.js"], languageOptions: { globals: { URL: "readonly" } } },
  { files: ["public/*.js"], languageOptions: { globals: { document: "readonly", localStorage: "readonly" } } },
);
