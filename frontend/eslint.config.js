import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript-eslint";

const root = fileURLToPath(new URL(".", import.meta.url));
const features = readdirSync(new URL("./src/features", import.meta.url));

// app → features → components → lib, and a feature never reaches into another one. What lies in another folder of src is
// imported as "@/…", never by climbing up to it, so that these names are all there is to check.
const closed = (folder, ...others) => ({
  files: [`src/${folder}/**/*.{ts,tsx}`],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          { group: ["../**"], message: 'Import from another folder as "@/…".' },
          ...others.map((other) => ({
            group: [`@/${other}/**`],
            message: `${folder} may not import from ${other}.`,
          })),
        ],
      },
    ],
  },
});
const layers = [
  closed("lib", "api", "components", "features", "app"),
  closed("api", "components", "features", "app"),
  closed("components", "features", "app"),
  ...features.map((name) =>
    closed(
      `features/${name}`,
      "app",
      ...features.filter((other) => other !== name).map((other) => `features/${other}`),
    ),
  ),
];

export default ts.config(
  { ignores: ["dist", "src/api/schema.gen.ts"] },
  js.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [...ts.configs.strictTypeChecked, hooks.configs.flat.recommended],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: root } },
    rules: {
      "max-lines": ["error", { max: 200 }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  ...layers,
  { files: ["*.config.js"], languageOptions: { globals: { URL: "readonly" } } },
  { files: ["public/*.js"], languageOptions: { globals: { document: "readonly", localStorage: "readonly" } } },
);
