const LONGEST = 60;

/** An annotator's name as the server stores it. Null for a text without a visible character. */
export function annotatorName(typed: string | null): string | null {
  const name = (typed ?? "")
    .replaceAll(/[\s\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .slice(0, LONGEST)
    .trim();
  return name || null;
}
