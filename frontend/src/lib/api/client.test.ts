import { expect, test } from "vitest";
import { allPages } from "@/lib/api/client";

test("goes on behind the last item until there is no more", async () => {
  const items = [1, 2, 3, 4, 5];
  const fetchPage = (after: string | null) => {
    const from = after === null ? 0 : Number(after);
    const data = items.slice(from, from + 2);
    return Promise.resolve({ data, has_more: from + 2 < items.length, last_id: String(data.at(-1)) });
  };
  expect(await allPages(fetchPage)).toEqual(items);
});

test("an empty list is one page", async () => {
  expect(await allPages(() => Promise.resolve({ data: [], has_more: false, last_id: null }))).toEqual([]);
});
