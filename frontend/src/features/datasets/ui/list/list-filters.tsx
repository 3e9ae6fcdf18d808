import type { DatasetFilter } from "@/features/datasets/api/datasets";
import { KINDS } from "@/features/datasets/model/kinds";
import { SearchBox } from "@/features/datasets/ui/search-box";
import styles from "@/features/datasets/ui/datasets.module.css";

interface Props {
  filter: DatasetFilter;
  onChange: (change: Partial<DatasetFilter>) => void;
}

export function ListFilters({ filter, onChange }: Props) {
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
