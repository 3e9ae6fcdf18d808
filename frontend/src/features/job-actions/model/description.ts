/** The tags in a text: separated by commas, each once. */
export const tagsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((tag) => tag.trim().toLowerCase())
      .filter(Boolean),
  ),
];

/** Metadata as lines of `key = value`. */
export const metadataText = (metadata: Readonly<Record<string, string>>): string =>
  Object.entries(metadata)
    .map(([key, value]) => `${key} = ${value}`)
    .join("\n");

/** The merge patch from `before` to the lines of `text`; null removes a key. Throws an Error that names a wrong line. */
export function metadataPatch(before: Readonly<Record<string, string>>, text: string): Record<string, string | null> {
  const after: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const at = line.indexOf("=");
    const key = line.slice(0, at).trim();
    if (at < 0 || !key) throw new Error(`Line ${index + 1} has no key. Write it as key = value.`);
    after[key] = line.slice(at + 1).trim();
  }
  const patch: Record<string, string | null> = {};
  for (const key of Object.keys(before)) if (!(key in after)) patch[key] = null;
  for (const [key, value] of Object.entries(after)) if (before[key] !== value) patch[key] = value;
  return patch;
}
