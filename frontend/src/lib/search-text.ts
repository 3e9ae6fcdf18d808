/** Text of a search box, and the search it last started. */
interface SearchText {
  readonly text: string;
  /** The search that the page is at, as last heard of. */
  readonly shown: string;
  /** Searches that were asked for and that the page has not come to yet. */
  readonly asked: readonly string[];
}

export const searchText = (shown: string): SearchText => ({ text: shown, shown, asked: [] });

export const asking = (box: SearchText, search: string): SearchText => ({ ...box, asked: [...box.asked, search] });

/** The page has come to a search. A search that started here changes nothing, because more text may have been typed since. */
export function arrivedAt(box: SearchText, shown: string): SearchText {
  const place = box.asked.indexOf(shown);
  return place === -1 ? searchText(shown) : { ...box, shown, asked: box.asked.slice(place + 1) };
}
