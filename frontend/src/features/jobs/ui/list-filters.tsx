import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { Button } from "@/components/button";
import { loadable } from "@/components/loadable";
import { Popover } from "@/components/popover";
import { SearchBox } from "@/components/search-box";
import { tagsQuery } from "@/features/jobs/api";
import { type Choice, isFiltered, STATUSES, UNFILTERED } from "@/features/jobs/model/choice";
import { HealthFilter } from "@/features/jobs/ui/health-filter";
import { type ColumnId, reversed, sortsFor } from "@/features/jobs/model/columns";
import { conditionLabel } from "@/features/jobs/model/fields";
import styles from "./jobs.module.css";

const AddCondition = loadable(async () => (await import("@/features/jobs/ui/field-picker")).AddCondition);

interface ListFiltersProps {
  choice: Choice;
  /** The columns of the table. */
  columns: readonly ColumnId[];
  onChange: (change: Partial<Choice>) => void;
}

/** Which jobs are listed: by words, state and tags. */
export function ListFilters({ choice, columns, onChange }: ListFiltersProps) {
  const { statuses, tags, archived, where, flat } = choice;
  const known = useQuery(tagsQuery).data;
  return (
    <div className={styles.filters} role="search" aria-label="Which jobs">
      <SearchBox
        value={choice.search}
        onSearch={(search) => onChange({ search })}
        label="Search the jobs"
        placeholder="Name, notes, tag or id"
      />
      <Popover button={statuses.length ? `Status (${statuses.length})` : "Status"} label="Status of the jobs">
        <div className={styles.checks}>
          {STATUSES.map((one) => (
            <label key={one} className={styles.check}>
              <input
                type="checkbox"
                checked={statuses.includes(one)}
                onChange={({ target }) =>
                  onChange({
                    statuses: STATUSES.filter((other) => (other === one ? target.checked : statuses.includes(other))),
                  })
                }
              />
              {one}
            </label>
          ))}
        </div>
      </Popover>
      <HealthFilter chosen={choice.health} onChange={(health) => onChange({ health })} />
      <select
        className={styles.tag}
        aria-label="Add a tag to the filter"
        title={known?.length === 0 ? "No job has a tag" : undefined}
        disabled={!known?.length}
        value=""
        onChange={(event) => onChange({ tags: [...tags, event.target.value] })}
      >
        <option value="">Tag</option>
        {known
          ?.filter(({ tag }) => !tags.includes(tag))
          .map(({ tag, jobs }) => (
            <option key={tag} value={tag}>
              {tag} ({jobs})
            </option>
          ))}
      </select>
      <label className={styles.check}>
        <input type="checkbox" checked={archived} onChange={(event) => onChange({ archived: event.target.checked })} />
        Archived
      </label>
      <label className={styles.check} title="One row for all jobs of a sweep or group">
        <input type="checkbox" checked={!flat} onChange={(event) => onChange({ flat: !event.target.checked })} />
        Fold groups
      </label>
      <Popover button={where.length ? `Values (${where.length})` : "Values"} label="Filter by fields and metrics" wide>
        {(close) => (
          <Suspense fallback={null}>
            <AddCondition
              onAdd={(condition) => {
                onChange({ where: [...new Set([...where, condition])] });
                close();
              }}
            />
          </Suspense>
        )}
      </Popover>
      <SortSelect choice={choice} columns={columns} onChange={onChange} />
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
      {where.map((one) => (
        <button
          key={one}
          type="button"
          className={styles.chip}
          aria-label={`Remove the condition ${conditionLabel(one)}`}
          onClick={() => onChange({ where: where.filter((other) => other !== one) })}
        >
          {conditionLabel(one)} ×
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

/** The order, where no head shows it: on a narrow screen, and for a column that is not shown. */
function SortSelect({ choice: { sort }, columns, onChange }: ListFiltersProps) {
  const by = sort?.replace(/^-/, "") ?? "";
  const sorts = sortsFor(columns, sort);
  return (
    <span className={styles.order} data-headless={!["", "name", ...columns].includes(by) || undefined}>
      <select
        aria-label="Order of the jobs"
        value={by}
        onChange={({ target }) => onChange({ sort: sorts.find(({ id }) => id === target.value)?.first ?? null })}
      >
        <option value="">Newest first</option>
        {sorts.map(({ id, label }) => (
          <option key={id} value={id}>
            By {label}
          </option>
        ))}
      </select>
      {sort && (
        <Button aria-label="Reverse the order" onClick={() => onChange({ sort: reversed(sort) })}>
          {sort.startsWith("-") ? "↓" : "↑"}
        </Button>
      )}
    </span>
  );
}
