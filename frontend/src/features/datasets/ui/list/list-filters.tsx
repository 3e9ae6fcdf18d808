import { useCallback } from "react";
import type { DatasetFilter } from "@/features/datasets/api/datasets";
import { asSort, ORDERS, readFilter, writeFilter } from "@/features/datasets/model/choice";
import { KINDS } from "@/features/datasets/model/kinds";
import { SearchBox } from "@/components/search-box";
import { useAddress } from "@/lib/address";
import styles from "@/features/datasets/ui/datasets.module.css";

interface ListFiltersProps {
  filter: DatasetFilter;
  onChange: (change: Partial<DatasetFilter>) => void;
}

export function ListFilters({ filter, onChange }: ListFiltersProps) {
  return (
    <div className={styles.filters} role="search" aria-label="Which datasets">
      <SearchBox
        value={filter.search}
        onSearch={(search) => onChange({ search })}
        label="Search by name"
        placeholder="Search by name"
      />
      <label>
        <span className="visually-hidden">Kind</span>
        <select
          value={filter.kind ?? ""}
          onChange={(event) => onChange({ kind: KINDS.find((kind) => kind.id === event.target.value)?.id ?? null })}
        >
          <option value="">All kinds</option>
          {KINDS.map((kind) => (
            <option key={kind.id} value={kind.id}>
              {kind.label}
            </option>
          ))}
        </select>
      </label>
      <label className={styles.order}>
        <span className="visually-hidden">Order of the datasets</span>
        <select value={filter.sort ?? "-created"} onChange={(event) => onChange({ sort: asSort(event.target.value) })}>
          {ORDERS.map(({ sort, label }) => (
            <option key={sort} value={sort}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={filter.archived}
          onChange={(event) => onChange({ archived: event.target.checked })}
        />
        Archived
      </label>
    </div>
  );
}

interface ListFilter {
  filter: DatasetFilter;
  isFiltered: boolean;
  change: (change: Partial<DatasetFilter>) => void;
}

/** Which datasets are listed, kept in the address. */
export function useListFilter(): ListFilter {
  const [params, setParams] = useAddress();
  const filter = readFilter(params);
  const change = useCallback(
    (changed: Partial<DatasetFilter>) => setParams((before) => writeFilter({ ...readFilter(before), ...changed })),
    [setParams],
  );
  return { filter, isFiltered: writeFilter({ ...filter, sort: null }).size > 0, change };
}
