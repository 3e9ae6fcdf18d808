import type { Json } from "@/features/job-form/model/spec";

/** The parts of a JSON text: strings, numbers and the marks between them. `true`, `false` and `null` are none. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\],:]/gs;

/**
 * The value of a JSON text. Throws an Error with the line for a text that is no JSON. So do a name that stands twice and a
 * number that JavaScript cannot hold, which `JSON.parse` changes without a word.
 */
export function parseJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(message)?.[1];
    const line = at === undefined ? "" : `Line ${lineOf(text, Number(at))}: `;
    throw new Error(`${line}this is not valid JSON. ${message}`, { cause: error });
  }
  refuseLosses(text);
  return value;
}

const lineOf = (text: string, position: number): number => text.slice(0, position).split("\n").length;

/** Throws an Error for the first loss in a valid JSON text. */
function refuseLosses(text: string): void {
  const open: (Set<string> | null)[] = [];
  let before = "";
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    const names = open.at(-1);
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token.startsWith('"')) {
      const isName = names && (before === "{" || before === ",");
      const name = isName ? (JSON.parse(token) as string) : "";
      if (isName && names.has(name)) throw new Error(`Line ${lineOf(text, index)}: the name "${name}" stands twice.`);
      if (isName) names.add(name);
    } else if (/^[-\d]/.test(token) && isChanged(token)) {
      throw new Error(
        `Line ${lineOf(text, index)}: ${token} is too large or too precise for a number. Write it as a text.`,
      );
    }
    before = token;
  }
}

/** Whether the number of a JSON text is another one in JavaScript: a large whole number, or one outside of its range. */
function isChanged(token: string): boolean {
  const value = Number(token);
  if (/^-?\d+$/.test(token)) return !Number.isFinite(value) || BigInt(value) !== BigInt(token);
  return !Number.isFinite(value) || (value === 0 && /[1-9]/.test(token.replace(/[eE].*$/, "")));
}
