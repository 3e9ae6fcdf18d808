import { DataTable } from "@/components/data-table";
import { asSort, type ColumnId, type JobSort } from "@/features/jobs/model/columns";
import { JOB_COLUMNS } from "@/features/jobs/ui/job-columns";
import type { JobSummary } from "@/lib/api/types";
import styles from "./jobs.module.css";

interface JobTableProps {
  jobs: readonly JobSummary[];
  columns: readonly ColumnId[];
  sort: JobSort | null;
  onSort: (sort: JobSort | null) => void;
  /** Ids of the selected jobs. */
  selected: readonly string[];
  onSelect: (ids: readonly string[]) => void;
}

export function JobTable({ jobs, columns, onSort, ...state }: JobTableProps) {
  return (
    <DataTable
      {...state}
      label="Jobs"
      className={styles.jobs}
      rows={jobs}
      rowId={(job) => job.id}
      columns={JOB_COLUMNS}
      shown={["select", "name", ...columns, "actions"]}
      isSorted
      onSort={(sort) => onSort(asSort(sort))}
    />
  );
}
