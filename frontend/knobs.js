/** Writes labels and units of the live knobs from openapi.json, which holds them at the fields of a command. Its argument is the file. */
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";

const { components } = JSON.parse(await readFile("openapi.json", "utf8"));
const knobs = Object.entries(components.schemas.CommandRequest.properties).flatMap(([name, field]) =>
  "x-label" in field ? [[name, { label: field["x-label"], unit: field["x-unit"] }]] : [],
);
const [, , file = "src/lib/api/knobs.gen.ts"] = process.argv;
const text = JSON.stringify(Object.fromEntries(knobs), null, 2);
const head = "/** Live knobs by name. `npm run generate` writes this file; do not edit it. */\n";
await writeFile(file, `${head}export const KNOBS = ${text} as const;\n`);
