/** Writes the datasets of a spec and the longest texts from openapi.json, which holds them at their fields. Its argument is the file. */
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";

const { components } = JSON.parse(await readFile("openapi.json", "utf8"));
const fieldsOf = (schema) => components.schemas[schema].properties;
const kinds = Object.entries(fieldsOf("DataSpec")).flatMap(([name, field]) =>
  "x-dataset" in field ? [[name, field["x-dataset"]]] : [],
);
const longest = (schema, name) => {
  const field = fieldsOf(schema)[name];
  return field.maxLength ?? field.anyOf.find(({ maxLength }) => maxLength).maxLength;
};
const texts = {
  jobName: longest("JobSpec", "name"),
  jobNotes: longest("ChangeJob", "notes"),
  templateName: longest("NewTemplate", "name"),
  templateDescription: longest("NewTemplate", "description"),
  sampleNote: longest("WriteNote", "text"),
  sampleNoteAuthor: longest("WriteNote", "author"),
  roundName: longest("NewRound", "name"),
  roundInstructions: longest("NewRound", "instructions"),
  keyName: longest("NewKey", "name"),
};
const [, , file = "src/lib/api/fields.gen.ts"] = process.argv;
const written = (about, name, value) =>
  `/** ${about} */\nexport const ${name} = ${JSON.stringify(value, null, 2)} as const;\n`;
const parts = [
  "/** Facts about fields of the API. `npm run generate` writes this file; do not edit it. */\n",
  written(
    "The fields of `data` that name datasets, each with the kind that it takes.",
    "DATASET_KINDS",
    Object.fromEntries(kinds),
  ),
  written("The most characters of texts.", "LONGEST", texts),
];
await writeFile(file, parts.join("\n"));
