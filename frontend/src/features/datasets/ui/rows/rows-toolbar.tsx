import type { RefObject } from "react";
import { Button } from "@/components/button";
import { Segmented } from "@/components/segmented";
import type { Go, Place } from "@/features/datasets/model/place";
import { SearchBox } from "@/components/search-box";
import type { DatasetVersion, Finding } from "@/lib/api/types";
import styles from "./rows.module.css";

const VIEWS = [
  { id: "sides", label: "Side by side" },
  { id: "table", label: "Table" },
] as const;

interface Props {
  place: Place;
  go: Go;
  findings: readonly Finding[];
  version: DatasetVersion;
  searchRef: RefObject<HTMLInputElement | null>;
  onRandom: () => void;
}

/** Which rows, and how they look. Everything that is chosen here is in the address. */
export function RowsToolbar({ place, go, findings, version, searchRef, onRandom }: Props) {
  const listed = findings.filter(hasRows);
  const unlisted = listed.some((one) => one.code === place.finding) ? null : place.finding;
  return (
    <div className={styles.toolbar} role="search" aria-label="Which rows">
      <SearchBox
        value={place.search}
        onSearch={(search) => go({ search, seed: null })}
        inputRef={searchRef}
        label="Search the texts"
        placeholder="Search the texts"
      />
      <label>
        <span className="visually-hidden">Finding</span>
        <select
          value={place.finding ?? ""}
          onChange={(event) => go({ finding: event.target.value || null, seed: null })}
        >
          <option value="">All rows</option>
          {unlisted && <option value={unlisted}>{unlisted}</option>}
          {listed.map((one) => (
            <option key={one.code} value={one.code}>
              {one.title} ({one.count.toLocaleString("en-US")})
            </option>
          ))}
        </select>
      </label>
      <label>
        <span className="visually-hidden">Split</span>
        <select
          value={place.split ?? ""}
          title="By a hash of the prompt: a prompt never crosses over"
          onChange={(event) => go({ split: asSplit(event.target.value), seed: null })}
        >
          <option value="">Both splits</option>
          <option value="train">Training</option>
          <option value="eval">Held out</option>
        </select>
      </label>
      {place.seed === null ? (
        <Button onClick={onRandom} disabled={!version.rows}>
          Random rows
        </Button>
      ) : (
        <span className={styles.pressed}>
          <Button onClick={onRandom}>Others</Button>
          <Button look="quiet" onClick={() => go({ seed: null })}>
            In order
          </Button>
        </span>
      )}
      <span className={styles.spring} />
      <label className={styles.check}>
        <input type="checkbox" checked={place.diff} onChange={(event) => go({ diff: event.target.checked })} />
        Mark differences
      </label>
      <Segmented label="How the rows look" options={VIEWS} value={place.view} onChange={(view) => go({ view })} />
      <p className={styles.keys} aria-label="Keys">
        <kbd>j</kbd> <kbd>k</kbd> next, previous row · <kbd>n</kbd> <kbd>p</kbd> page · <kbd>d</kbd> differences ·{" "}
        <kbd>o</kbd> table · <kbd>r</kbd> random · <kbd>/</kbd> search
      </p>
    </div>
  );
}

/** Whether a finding belongs to rows, not to the data as a whole. */
const hasRows = ({ share, count }: Finding): boolean => share !== null && count > 0;

const asSplit = (value: string) => (value === "train" || value === "eval" ? value : null);
