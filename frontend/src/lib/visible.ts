const INVISIBLE = /[\p{Cc}\p{Bidi_Control}\u200b\u2060\ufeff]/gu;
const CONTROL_PICTURES = 0x2400;

/** The text with a visible sign for each character that is invisible or reverses the text. Line breaks and tabs are kept. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (character) => (character === "\n" || character === "\t" ? character : signOf(character)));

function signOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
