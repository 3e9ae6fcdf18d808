import { isObject, type JsonObject } from "@/features/job-form/model/spec";

/** The spec as a file that `proximal jobs submit` reads. TOML has no null, so fields that are null are left out. */
export async function tomlOf(spec: JsonObject): Promise<string> {
  const { stringify } = await import("smol-toml");
  return stringify(withoutNulls(spec));
}

export const jsonOf = (spec: JsonObject): string => JSON.stringify(spec, null, 2);

function withoutNulls(value: JsonObject): JsonObject {
  const entries = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(entries.map(([name, one]) => [name, isObject(one) ? withoutNulls(one) : one]));
}

/** The spec in a TOML or JSON text. Throws an Error that names the line. */
export async function readSpec(text: string): Promise<JsonObject> {
  const isJson = text.trimStart().startsWith("{");
  const value = isJson ? fromJson(text) : await fromToml(text);
  if (!isObject(value)) throw new Error("The file holds no object. Write the fields of a job spec.");
  return value;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(message)?.[1];
    const line = at === undefined ? null : text.slice(0, Number(at)).split("\n").length;
    throw new Error(`${line === null ? "" : `Line ${line}: `}this is not valid JSON. ${message}`, { cause: error });
  }
}

async function fromToml(text: string): Promise<unknown> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    throw new Error(`Line ${error.line}, column ${error.column}: this is not valid TOML (${first}).`, { cause: error });
  }
}

export type Language = "curl" | "python" | "cli";

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
  return ["cat > spec.toml <<'END'", toml.trimEnd(), "END", `proximal jobs submit spec.toml${flagsOf(path)}`].join(
    "\n",
  );
}

/** The query of a submission as options of the command. */
function flagsOf(path: string): string {
  const query = new URLSearchParams(path.split("?")[1]);
  return [...query].map(([name, value]) => (value === "true" ? ` --${name}` : ` --${name} ${value}`)).join("");
}
