import { type ReactNode, useState } from "react";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { SearchBox } from "@/components/search-box";
import { ENDS, FIGURES, ORDERS, type Place, RIVALS, SOURCES } from "@/features/completions/model/place";
import { Histogram } from "@/features/completions/ui/histogram";
import type { Chooser } from "@/features/completions/ui/use-place";
import type { FigureHistogram } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./completions.module.css";

const STEP_ORDERS = [{ id: "newest", label: "As logged" }, ...ORDERS.slice(2)] as const;

interface FilterBarProps {
  chooser: Chooser;
  /** The figures that the completions have. */
  figures: readonly (typeof FIGURES)[number][];
  histogram: FigureHistogram;
  /** Number of completions that pass the filters. */
  shown: number;
  /** Number without filters; null if it is not known. */
  total: number | null;
  hasHeldOut: boolean;
  acrossSteps?: boolean;
  /** The completions shown are those of the choice before. */
  busy?: boolean;
  /** Stands beside the number of completions. */
  children?: ReactNode;
}

/** Search, filters, order and histogram of a list of completions. */
export function FilterBar(props: FilterBarProps) {
  const { chooser, figures, histogram, shown, total, hasHeldOut, acrossSteps = false, busy = false, children } = props;
  const { place, choose } = chooser;
  const [open, setOpen] = useState(false);
  return (
    <div
      className={`${styles.filters} ${open ? "" : styles.isClosed}`}
      role="search"
      aria-label="Which completions"
      aria-busy={busy}
    >
      <div className={styles.controls}>
        <SearchBox
          value={place.search}
          onSearch={(search) => choose({ search, row: null })}
          label="Search prompts and responses"
          placeholder="Search prompts and responses"
        />
        <Button className={styles.toggle} aria-expanded={open} onClick={() => setOpen(!open)}>
          Filters
        </Button>
        <Choice
          name="Figure"
          options={figures}
          value={place.by}
          onChange={(by) => choose({ by, min: null, max: null })}
        />
        <Choice
          name="Order"
          options={acrossSteps ? ORDERS : STEP_ORDERS}
          value={place.order}
          onChange={(order) => choose({ order })}
        />
        <Choice name="End" options={ENDS} value={place.ended} onChange={(ended) => choose({ ended, row: null })} />
        <Choice name="Beside" options={RIVALS} value={place.rival} onChange={(rival) => choose({ rival })} />
        {/* At the end, since not all steps have it. */}
        {hasHeldOut && (
          <Choice name="Prompts" options={SOURCES} value={place.source} onChange={(source) => choose({ source })} />
        )}
      </div>
      <Histogram
        histogram={histogram}
        label={FIGURES.find(({ id }) => id === place.by)?.label ?? place.by}
        min={place.min}
        max={place.max}
        onChoose={(min, max) => choose({ min, max, row: null })}
      />
      {children}
      <p className={styles.tally} role="status">
        {total === null || total === shown ? count(shown, "completion") : `${shown} of ${count(total, "completion")}`}
        {isFiltered(place) && (
          <Button look="quiet" onClick={() => choose(UNFILTERED)}>
            Clear the filters
          </Button>
        )}
      </p>
    </div>
  );
}

const UNFILTERED = { search: "", min: null, max: null, ended: "any", source: "any" } as const;

const isFiltered = (place: Place): boolean =>
  Object.entries(UNFILTERED).some(([name, value]) => place[name as keyof typeof UNFILTERED] !== value);

export function Nothing({ chooser }: { chooser: Chooser }) {
  return (
    <Notice title="No completion passes these filters">
      <Button onClick={() => chooser.choose(UNFILTERED)}>Clear the filters</Button>
    </Notice>
  );
}

interface ChoiceProps<Id extends string> {
  name: string;
  options: readonly { readonly id: Id; readonly label: string }[];
  value: Id;
  onChange: (id: Id) => void;
}

function Choice<Id extends string>({ name, options, value, onChange }: ChoiceProps<Id>) {
  return (
    <label className={styles.choice}>
      <span>{name}</span>
      <select
        value={value}
        onChange={(event) => {
          const chosen = options.find(({ id }) => id === event.target.value);
          if (chosen) onChange(chosen.id);
        }}
      >
        {options.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
