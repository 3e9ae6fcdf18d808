const LONGEST = 60;

/** An annotator's name as it is stored: null for what is none. */
export function asName(typed: string | null): string | null {
  const name = (typed ?? "")
    .replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .slice(0, LONGEST)
    .trim();
  return name || null;
}
