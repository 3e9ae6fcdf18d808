import { expect, test } from "vitest";
import { visible } from "@/lib/visible";

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
