import { expect, test } from "vitest";
import { visible } from "@/lib/visible";

test("control characters get their pictures, others their code", () => {
  expect(visible("a\u0000b\u001bc\r\n\td\u007f")).toBe("a␀b␛c␍\n\td⟨U+007F⟩");
  expect(visible("user\u202Etxt.exe\ufeff")).toBe("user⟨U+202E⟩txt.exe⟨U+FEFF⟩");
});

test("letters of any script and joined emoji are kept", () => {
  const text = "שלום مرحبا 👩‍👩‍👧 é";
  expect(visible(text)).toBe(text);
});
