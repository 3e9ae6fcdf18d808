/** The tags in a text: separated by commas, each once. */
export const tagsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim().toLowerCase())
      .filter(Boolean),
  ),
];

/** Keys and values with these characters stand in quotes. */
const ODD_KEY = /[="\r\n]|^$/;
const ODD_VALUE = /[\r\n]/;

/** Metadata as lines of `key = value`. A part that would be read as something else stands in quotes, as in JSON. */
export const metadataText = (metadata: Readonly<Record<string, string>>): string =>
  Object.entries(metadata)
    .map(([key, value]) => `${quoted(key, ODD_KEY)} = ${quoted(value, ODD_VALUE)}`)
    .join("\n");

const quoted = (text: string, odd: RegExp): string => (isQuoted(text, odd) ? JSON.stringify(text) : text);

const isQuoted = (text: string, odd: RegExp): boolean =>
  odd.test(text) || text !== text.trim() || unquoted(text, odd) !== text;

/** The text in quotes that are needed; any other text as it is, because its quotes belong to it. */
function unquoted(text: string, odd: RegExp): string {
  if (!/^".*"$/.test(text)) return text;
  try {
    const inner: unknown = JSON.parse(text);
    return typeof inner === "string" && JSON.stringify(inner) === text && isQuoted(inner, odd) ? inner : text;
  } catch {
    return text;
  }
}

/** A key in quotes, or without `=`, and a value. */
const LINE = /^\s*("(?:[^"\\]|\\.)*"|[^=]*?[^=\s])\s*=(.*)$/;

/** The merge patch from `before` to the lines of `text`; null removes a key. Throws an Error that names a wrong line. */
export function metadataPatch(before: Readonly<Record<string, string>>, text: string): Record<string, string | null> {
  const after = new Map<string, string>();
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const [, name, value = ""] = LINE.exec(line) ?? [];
    if (name === undefined) throw new Error(`Line ${index + 1} has no key. Write it as key = value.`);
    const key = unquoted(name, ODD_KEY);
    if (after.has(key)) throw new Error(`Line ${index + 1} repeats the key ${key}. Remove one of the two lines.`);
    after.set(key, unquoted(value.trim(), ODD_VALUE));
  }
  const removed = Object.keys(before).filter((key) => !after.has(key));
  const changed = [...after].filter(([key, value]) => !Object.hasOwn(before, key) || before[key] !== value);
  return Object.fromEntries([...removed.map((key) => [key, null] as const), ...changed]);
}
