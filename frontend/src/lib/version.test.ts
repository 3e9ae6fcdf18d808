import { expect, test } from "vitest";
import { entryOf } from "@/lib/version";

test("the entry of a build is its module script, not the one that sets the theme", () => {
  const html = `<script src="/theme.js"></script><script type="module" crossorigin src="/assets/index-Ab1.js"></script>`;
  expect(entryOf(html)).toBe("/assets/index-Ab1.js");
  expect(entryOf("<h1>The dashboard is not built</h1>")).toBeNull();
});
