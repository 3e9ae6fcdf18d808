import { expect, test } from "vitest";
import { trimmedStart, visible } from "@/lib/visible";

test("control characters get their pictures, others their code", () => {
  expect(visible("a\u0000b\u001bc\r\n\td\u007f")).toBe("a␀b␛c␍\n\td⟨U+007F⟩");
  expect(visible("user\u202Etxt.exe\ufeff")).toBe("user⟨U+202E⟩txt.exe⟨U+FEFF⟩");
});

test("characters that hide a text are shown, and flags are kept", () => {
  expect(visible("a\u00adb\u3164c\u2028d")).toBe("a⟨U+00AD⟩b⟨U+3164⟩c⟨U+2028⟩d");
  expect(visible("ok\u{E0068}\u{E0069}")).toBe("ok⟨U+E0068⟩⟨U+E0069⟩");
  const england = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}";
  expect(visible(`${england} \u2764\ufe0f`)).toBe(`${england} \u2764\ufe0f`);
});

test("letters of any script and joined emoji are kept", () => {
  const text = "שלום مرحبا 👩‍👩‍👧 é";
  expect(visible(text)).toBe(text);
});

test("many line breaks are counted, few are kept", () => {
  expect(visible(`a\n\n\nb${"\n".repeat(10_000)}c`)).toBe("a\n\n\nb\n⟨10,000 line breaks⟩\nc");
});

test("many marks on a letter are counted, few are kept", () => {
  expect(visible(`e\u0301 Z${"\u0301".repeat(1006)}!`)).toBe(`e\u0301 Z${"\u0301".repeat(6)}⟨1,000 more marks⟩!`);
});

test("only a short whitespace at the start is left out", () => {
  expect([" the", "\n\nthe", "\n\n\nthe", "the"].map(trimmedStart)).toEqual(["the", "the", "\n\n\nthe", "the"]);
});
