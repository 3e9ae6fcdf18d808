interface Page<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly last_id: string | null;
}

/** As many as the API gives at once. */
export const MOST = 100;

/** Every item of a list that people fill, and that is short for that: page by page. */
export async function allPages<T>(fetchPage: (after: string | null) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for (let after: string | null = null; ;) {
    const page = await fetchPage(after);
    items.push(...page.data);
    if (!page.has_more || page.last_id === null) return items;
    after = page.last_id;
  }
}
