import { RowLink, Table } from "@/components/table";
import { JobActions } from "@/features/job-actions/ui";
import { nextSort, type Sort } from "@/features/jobs/model/choice";
import { COLUMNS, type ColumnId } from "@/features/jobs/model/columns";
import { JobCell } from "@/features/jobs/ui/job-cells";
import { paths } from "@/lib/address";
import type { JobSummary } from "@/lib/api/types";
import { jobName } from "@/lib/states";
import styles from "./jobs.module.css";

interface JobTableProps {
  jobs: readonly JobSummary[];
  columns: readonly ColumnId[];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
  /** Ids of the selected jobs. */
  selected: readonly string[];
  onSelect: (ids: readonly string[]) => void;
  onTag: (tag: string) => void;
}

export function JobTable({ jobs, columns, sort, onSort, selected, onSelect, onTag }: JobTableProps) {
  const head = (by: Sort["by"], label: string) => (
    <SortHead key={by} label={label} by={by} sort={sort} onSort={onSort} />
  );
  const chosen = COLUMNS.filter((column) => columns.includes(column.id));
  const all = jobs.length > 0 && jobs.every((job) => selected.includes(job.id));
  return (
    <Table
      label="Jobs"
      className={styles.jobs}
      head={[
        <th key="pick" scope="col" className={styles.pick}>
          <input
            type="checkbox"
            aria-label="Select all jobs shown"
            checked={all}
            onChange={() => onSelect(all ? [] : jobs.map((job) => job.id))}
          />
        </th>,
        head("name", "Job"),
        ...chosen.map(({ id, label, sorts }) => (sorts ? head(id, label) : label)),
        <th key="actions" scope="col">
          <span className="visually-hidden">Actions</span>
        </th>,
      ]}
    >
      {jobs.map((job) => (
        <tr key={job.id}>
          <td className={styles.pick}>
            <input
              type="checkbox"
              aria-label={`Select ${job.name || job.id}`}
              checked={selected.includes(job.id)}
              onChange={(event) =>
                onSelect(event.target.checked ? [...selected, job.id] : selected.filter((id) => id !== job.id))
              }
            />
          </td>
          <th scope="row" className={styles.name}>
            <RowLink to={paths.job(job.id)}>
              <span className={styles.words} title={jobName(job)}>
                {jobName(job)}
              </span>
            </RowLink>
            <code>{job.id}</code>
          </th>
          {chosen.map(({ id }) => (
            <JobCell key={id} job={job} column={id} onTag={onTag} />
          ))}
          <td className={styles.menu}>
            <JobActions job={job} look="row" />
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface SortHeadProps {
  label: string;
  by: Sort["by"];
  sort: Sort | null;
  onSort: (sort: Sort | null) => void;
}

function SortHead({ label, by, sort, onSort }: SortHeadProps) {
  const here = sort?.by === by ? sort : null;
  const order = here?.isDescending ? "descending" : "ascending";
  return (
    <th scope="col" aria-sort={here ? order : undefined}>
      <button type="button" className={styles.sort} onClick={() => onSort(nextSort(sort, by))}>
        {label}
        {here && <span aria-hidden>{here.isDescending ? " ↓" : " ↑"}</span>}
      </button>
    </th>
  );
}
