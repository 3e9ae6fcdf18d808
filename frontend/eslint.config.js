import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript-eslint";

const root = fileURLToPath(new URL(".", import.meta.url));
const features = readdirSync(new URL("./src/features", import.meta.url));

// Imports point one way: app → features → components, charts → lib. Another folder of src is imported as "@/...",
// never by climbing up to it, so these patterns see every import. `uses` declares whose `api` and `ui/index.ts` (the parts
// that a feature offers to others) a feature may import.
const uses = {
  annotation: ["auth", "datasets", "jobs"],
  completions: ["jobs"],
  "job-actions": ["jobs"],
  "job-form": ["datasets", "groups", "jobs"],
  jobs: ["datasets", "job-actions"],
  critic: ["completions", "jobs"],
  run: ["completions", "critic", "jobs", "job-actions", "metric-charts"],
  compare: ["completions", "jobs", "metric-charts", "run"],
  groups: ["run"],
  workers: ["auth"],
};

// The libraries of the primitives and tables stay replaceable: only components/ imports them.
const PRIMITIVES = { group: ["@ariakit/*", "@tanstack/react-table"], message: "Use a component of @/components." };

const closed = (folder, forbidden) => ({
  files: [`src/${folder}/**/*.{ts,tsx}`],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          { group: ["../**"], message: 'Import from another folder as "@/...".' },
          ...(folder === "components" ? [] : [PRIMITIVES]),
          ...forbidden.map((group) => ({ group: [group].flat(), message: `${folder} may not import this folder.` })),
        ],
      },
    ],
  },
});

const others = (name) =>
  features
    .filter((other) => other !== name)
    .map((other) =>
      uses[name]?.includes(other)
        ? [
            `@/features/${other}/**`,
            `!@/features/${other}/api`,
            `!@/features/${other}/api/**`,
            `!@/features/${other}/ui`,
          ]
        : `@/features/${other}/**`,
    );

const upward = (...folders) => folders.map((folder) => `@/${folder}/**`);

const layers = [
  closed("app", []),
  closed("lib", upward("components", "charts", "features", "app")),
  closed("components", upward("charts", "features", "app")),
  closed("charts", upward("components", "features", "app")),
  ...features.flatMap((name) => [
    closed(`features/${name}`, [...upward("app"), ...others(name)]),
    // Later blocks replace earlier ones, so these repeat the feature's own rule.
    closed(`features/${name}/model`, [...upward("app", "components"), ...others(name), `@/features/${name}/ui/**`]),
  ]),
];

export default ts.config(
  { ignores: ["dist", "src/lib/api/*.gen.ts"] },
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
