import { useCallback } from "react";
import { useAddress } from "@/lib/address";

const TABS = ["report", "rows", "versions"] as const;
export type TabId = (typeof TABS)[number];
const VIEWS = ["sides", "table"] as const;
type View = (typeof VIEWS)[number];
type Split = "train" | "eval";

/** Which rows are shown, and how. */
interface RowsPlace {
  readonly search: string;
  readonly finding: string | null;
  readonly split: Split | null;
  /** The seed of a random sample; null for rows in order. */
  readonly seed: number | null;
  readonly after: number;
  /** The row that the keyboard is at. */
  readonly row: number | null;
  readonly view: View;
  readonly diff: boolean;
}

/** All that a link to a dataset can say. */
export interface Place extends RowsPlace {
  readonly tab: TabId;
  /** Null is the newest. */
  readonly version: number | null;
  /** Null is the newest report of the version. */
  readonly report: string | null;
}

export const START: Place = {
  tab: "report",
  version: null,
  report: null,
  search: "",
  finding: null,
  split: null,
  seed: null,
  after: 0,
  row: null,
  view: "sides",
  diff: false,
};

const wholeNumber = (text: string | null): number | null =>
  text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;

/** Reads the place from an address. Invalid parameters count as absent. */
export function readPlace(params: URLSearchParams): Place {
  return {
    tab: TABS.find((tab) => tab === params.get("tab")) ?? START.tab,
    version: wholeNumber(params.get("version")),
    report: params.get("report"),
    search: params.get("q") ?? "",
    finding: params.get("finding"),
    split: (["train", "eval"] as const).find((split) => split === params.get("split")) ?? null,
    seed: wholeNumber(params.get("sample")),
    after: wholeNumber(params.get("after")) ?? 0,
    row: wholeNumber(params.get("row")),
    view: VIEWS.find((view) => view === params.get("view")) ?? START.view,
    diff: params.get("diff") === "1",
  };
}

/** The address of a place: only what differs from the start is in it. */
export function writePlace(place: Place): URLSearchParams {
  const entries: [string, string | number | boolean | null, unknown][] = [
    ["tab", place.tab, START.tab],
    ["version", place.version, START.version],
    ["report", place.report, START.report],
    ["q", place.search, START.search],
    ["finding", place.finding, START.finding],
    ["split", place.split, START.split],
    ["sample", place.seed, START.seed],
    ["after", place.after, START.after],
    ["row", place.row, START.row],
    ["view", place.view, START.view],
    ["diff", place.diff ? 1 : 0, 0],
  ];
  return new URLSearchParams(
    entries
      .filter(([, value, start]) => value !== null && value !== start)
      .map(([name, value]) => [name, String(value)]),
  );
}

const FILTERS = ["search", "finding", "split", "seed"] as const;

/** The place after a change. Another selection starts at its first row, and a filter does not apply to another version. */
export function moved(place: Place, change: Partial<Place>): Place {
  const after = { ...place, ...change };
  const isOther = after.version !== place.version;
  const fresh = isOther ? { report: change.report ?? null, finding: change.finding ?? null } : {};
  const refiltered = isOther || FILTERS.some((name) => after[name] !== place[name]);
  return { ...after, ...fresh, ...(refiltered && { after: change.after ?? 0, row: change.row ?? null }) };
}

/** The rows of a finding, or one row by its number, whatever was searched for before. */
export function rowsOf(place: Place, finding: string, report: string | null, row: number | null): Place {
  const unfiltered = { search: "", split: null, seed: null } as const;
  const to = row === null ? { finding, row: null, after: 0 } : { finding: null, row, after: row - 1 };
  return moved(place, { tab: "rows", report, ...unfiltered, ...to });
}

/** Where in a dataset the page is, kept in the address so that a link shows the same. */
export function usePlace(): [Place, Go] {
  const [params, setParams] = useAddress();
  const go = useCallback<Go>(
    (change, push) => setParams((before) => writePlace(moved(readPlace(before), change)), push),
    [setParams],
  );
  return [readPlace(params), go];
}

/** Changes the place. With `push` the browser's back button comes back here. */
export type Go = (change: Partial<Place>, push?: boolean) => void;
