import { parseJson } from "@/features/job-form/model/json";
import { escaped, isObject, type Json, type JsonObject, withNulls } from "@/features/job-form/model/spec";

/** The spec as a file that `proximal jobs submit` reads. Null is written as `{ null = true }`. */
export async function tomlOf(spec: JsonObject): Promise<string> {
  const { stringify } = await import("smol-toml");
  let mark = "null";
  for (const text = JSON.stringify(spec); text.includes(mark);) mark += "_";
  // No name and no text of the spec contains the mark, so each one in quotes stands for a null.
  return stringify(marked(spec, mark)).replaceAll(`"${mark}"`, "{ null = true }");
}

/** The value with a text in place of each null. */
function marked(value: Json, mark: string): Json {
  if (value === null) return mark;
  if (Array.isArray(value)) return value.map((one) => marked(one, mark));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(escaped(value)).map(([name, one]) => [name, marked(one, mark)]));
}

export const jsonOf = (spec: JsonObject): string => JSON.stringify(spec, null, 2);

/** The spec in a TOML or JSON text. Throws an Error that names the line. */
export async function readSpec(text: string): Promise<JsonObject> {
  const isJson = text.trimStart().startsWith("{");
  const value = isJson ? parseJson(text) : await fromToml(text);
  if (!isObject(value)) throw new Error("The file holds no object. Write the fields of a job spec.");
  return value;
}

async function fromToml(text: string): Promise<unknown> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return withNulls(asJson(parse(text)));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    throw new Error(`Line ${error.line}, column ${error.column}: this is not valid TOML (${first}).`, { cause: error });
  }
}

/** The value as JSON. Throws an Error for what JSON cannot hold: a date, and a number that is not finite. */
function asJson(value: unknown, path = ""): Json {
  const place = path || "The file";
  if (value instanceof Date) throw new Error(`${place} holds a date. Write it as a text, in quotes.`);
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Error(
      `${place} is ${Number.isNaN(value) ? "nan" : "inf"}. Write a finite number, or { null = true } for none.`,
    );
  if (Array.isArray(value)) return value.map((one, index) => asJson(one, `${path}.${index}`));
  if (!isObject(value)) return value as Json;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, one]) => [name, asJson(one, path ? `${path}.${name}` : name)]));
}

type Language = "curl" | "python" | "cli";

/** The path of a request and its body. */
export interface Submission {
  readonly path: string;
  readonly body: JsonObject;
}

/** The same submission for a program. The key comes from the environment, never from the page. */
export function commandFor(language: Language, origin: string, { path, body }: Submission, toml: string): string {
  if (language === "curl")
    return [
      `curl ${origin}${path} \\`,
      `  -H "Authorization: Bearer $PROXIMAL_API_KEY" \\`,
      `  -H "Content-Type: application/json" \\`,
      `  -d '${jsonOf(body).replaceAll("'", "'\\''")}'`,
    ].join("\n");
  if (language === "python")
    return [
      "import json, os",
      "",
      "import httpx",
      "",
      `body = json.loads(r"""${jsonOf(body)}""")`,
      `key = os.environ["PROXIMAL_API_KEY"]`,
      `answer = httpx.post("${origin}${path}", json=body, headers={"Authorization": f"Bearer {key}"})`,
      `print(answer.raise_for_status().json()["id"])`,
    ].join("\n");
  const flags = flagsOf(path);
  const [name, text, command] = cliOf(path, body, toml);
  return [`cat > ${name} <<'END'`, text.trimEnd(), "END", `proximal ${command}${flags}`].join("\n");
}

/** The file that the command reads, its text and the command. */
function cliOf(path: string, body: JsonObject, toml: string): [string, string, string] {
  const [, id = "", verb] = /\/v1\/jobs\/([^/?]+)\/(clone|branch)/.exec(path) ?? [];
  const patch = jsonOf(isObject(body.patch) ? body.patch : {});
  if (verb === "clone") return ["patch.json", patch, `jobs clone ${id} --patch patch.json`];
  if (verb === "branch")
    return ["patch.json", patch, `jobs branch ${id} --from ${body.checkpoint as string} --patch patch.json`];
  if (path.startsWith("/v1/sweeps")) return ["sweep.json", jsonOf(body), "sweeps submit sweep.json"];
  return ["spec.toml", toml, "jobs submit spec.toml"];
}

/** The query of a submission as options of the command. */
function flagsOf(path: string): string {
  const query = new URLSearchParams(path.split("?")[1]);
  return [...query].map(([name, value]) => (value === "true" ? ` --${name}` : ` --${name} ${value}`)).join("");
}
