import { useQuery } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { Popover } from "@/components/popover";
import { SearchBox } from "@/components/search-box";
import { tagsQuery } from "@/features/jobs/api";
import { type Choice, isFiltered, STATUSES, UNFILTERED } from "@/features/jobs/model/choice";
import { COLUMNS } from "@/features/jobs/model/columns";
import styles from "./jobs.module.css";

interface ListFiltersProps {
  choice: Choice;
  onChange: (change: Partial<Choice>) => void;
}

/** Which jobs are listed: by words, state and tags. */
export function ListFilters({ choice, onChange }: ListFiltersProps) {
  const { statuses, tags, archived } = choice;
  const known = useQuery(tagsQuery).data ?? [];
  return (
    <div className={styles.filters} role="search" aria-label="Which jobs">
      <SearchBox
        value={choice.search}
        onSearch={(search) => onChange({ search })}
        label="Search the jobs"
        placeholder="Name, notes, tag or id"
      />
      <Popover button={statuses.length ? `Status (${statuses.length})` : "Status"} label="Status of the jobs">
        <Checks
          options={STATUSES.map((id) => ({ id, label: id }))}
          chosen={statuses}
          onChange={(chosen) => onChange({ statuses: STATUSES.filter((status) => chosen.includes(status)) })}
        />
      </Popover>
      {known.length > 0 && (
        <select
          aria-label="Add a tag to the filter"
          value=""
          onChange={(event) => onChange({ tags: [...tags, event.target.value] })}
        >
          <option value="">Tag</option>
          {known
            .filter(({ tag }) => !tags.includes(tag))
            .map(({ tag, jobs }) => (
              <option key={tag} value={tag}>
                {tag} ({jobs})
              </option>
            ))}
        </select>
      )}
      <label className={styles.check}>
        <input type="checkbox" checked={archived} onChange={(event) => onChange({ archived: event.target.checked })} />
        Archived
      </label>
      <SortSelect choice={choice} onChange={onChange} />
      {tags.map((tag) => (
        <button
          key={tag}
          type="button"
          className={styles.chip}
          aria-label={`Remove the tag ${tag} from the filter`}
          onClick={() => onChange({ tags: tags.filter((one) => one !== tag) })}
        >
          {tag} ×
        </button>
      ))}
      {isFiltered(choice) && (
        <Button look="quiet" onClick={() => onChange(UNFILTERED)}>
          Clear the filters
        </Button>
      )}
    </div>
  );
}

/** The order on a narrow screen, where the table has no head. */
function SortSelect({ choice: { sort }, onChange }: ListFiltersProps) {
  const sorting = COLUMNS.filter((column) => column.sorts);
  return (
    <select
      className={styles.order}
      aria-label="Order of the jobs"
      value={sort?.by ?? ""}
      onChange={({ target }) => {
        const by = target.value === "name" ? "name" : sorting.find((column) => column.id === target.value)?.id;
        onChange({ sort: by ? { by, isDescending: by !== "name" } : null });
      }}
    >
      <option value="">Newest first</option>
      <option value="name">By name</option>
      {sorting.map(({ id, label }) => (
        <option key={id} value={id}>
          By {label}
        </option>
      ))}
    </select>
  );
}

interface ChecksProps<Id extends string> {
  options: readonly { readonly id: Id; readonly label: string }[];
  chosen: readonly Id[];
  onChange: (chosen: readonly Id[]) => void;
}

/** Check boxes in a column. */
export function Checks<Id extends string>({ options, chosen, onChange }: ChecksProps<Id>) {
  return (
    <div className={styles.checks}>
      {options.map(({ id, label }) => (
        <label key={id} className={styles.check}>
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            onChange={(event) => onChange(event.target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))}
          />
          {label}
        </label>
      ))}
    </div>
  );
}
