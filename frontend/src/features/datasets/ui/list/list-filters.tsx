import { useCallback } from "react";
import type { DatasetFilter } from "@/features/datasets/api/datasets";
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
  const filter = read(params);
  const change = useCallback(
    (changed: Partial<DatasetFilter>) => setParams((before) => write({ ...read(before), ...changed })),
    [setParams],
  );
  return { filter, isFiltered: write(filter).size > 0, change };
}

const read = (params: URLSearchParams): DatasetFilter => ({
  search: params.get("q") ?? "",
  kind: KINDS.find((kind) => kind.id === params.get("kind"))?.id ?? null,
  archived: params.get("archived") === "1",
});

function write({ search, kind, archived }: DatasetFilter): URLSearchParams {
  return new URLSearchParams({
    ...(search && { q: search }),
    ...(kind && { kind }),
    ...(archived && { archived: "1" }),
  });
}
