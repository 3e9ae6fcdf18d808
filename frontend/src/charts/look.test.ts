import { expect, test } from "vitest";
import { readLook, USUAL_LOOK } from "@/charts/look";

test("a stored look is read again", () => {
  const look = { size: "large", columns: 3, marks: false } as const;
  expect(readLook(JSON.stringify(look))).toEqual(look);
});

test("what makes no sense in a stored look is as usual", () => {
  for (const text of [null, "", "7", "null", '{"size":"huge","columns":99,"marks":"no"}', '{"columns":2.5}'])
    expect(readLook(text)).toEqual(USUAL_LOOK);
});
