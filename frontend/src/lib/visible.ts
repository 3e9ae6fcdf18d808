/** The flag of a part of a country: a black flag with tags. Tags elsewhere are a hidden text. */
const FLAG = /\u{1F3F4}[\u{E0020}-\u{E007E}]{1,6}\u{E007F}/u;
/** Joined letters and emoji keep their joiners and the sixteen common variation selectors. */
const IGNORED = /(?!\p{Join_Control}|[\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/u;
const CONTROL = /[\p{Cc}\u2028\u2029\ufff9-\ufffb]/u;
const INVISIBLE = new RegExp([FLAG, IGNORED, CONTROL].map(({ source }) => source).join("|"), "gu");
const CONTROL_PICTURES = 0x2400;

/** More line breaks than any layout of a text needs. */
const EMPTY_LINES = /\n{6,}/g;

/** More marks on one letter than any language has. They would cover the lines above. */
const MARKS = /(\p{Mark}{6})(\p{Mark}+)/gu;

/**
 * The text with a visible sign for each character that is invisible or reverses the text. A number stands in place of many
 * line breaks or marks on a letter. Tabs and other line breaks are kept.
 */
export const visible = (text: string): string =>
  text
    .replace(INVISIBLE, (found) => (found === "\n" || found === "\t" || FLAG.test(found) ? found : signOf(found)))
    .replace(EMPTY_LINES, ({ length }) => `\n⟨${length.toLocaleString("en-US")} line breaks⟩\n`)
    .replace(MARKS, (_, kept: string, { length }: string) => `${kept}⟨${length.toLocaleString("en-US")} more marks⟩`);

/** The text without the space or the empty line that completions often begin with. Longer whitespace stays. */
export const trimmedStart = (text: string): string => text.replace(/^\s{1,2}(?=\S)/, "");

function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
