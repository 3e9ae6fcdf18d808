import { useMemo } from "react";
import { DataTable } from "@/components/data-table";
import { asSort, type ColumnId, fieldsIn, type JobSort } from "@/features/jobs/model/columns";
import type { ListRow } from "@/features/jobs/model/folding";
import { jobColumns } from "@/features/jobs/ui/list-columns";
import styles from "./jobs.module.css";

interface JobTableProps {
  rows: readonly ListRow[];
  columns: readonly ColumnId[];
  sort: JobSort | null;
  onSort: (sort: JobSort | null) => void;
  /** Ids of the selected jobs. */
  selected: readonly string[];
  onSelect: (ids: readonly string[]) => void;
}

export function JobTable({ columns, onSort, ...state }: JobTableProps) {
  const fields = fieldsIn(columns).join("\n");
  const all = useMemo(() => jobColumns(fieldsIn(fields.split("\n") as ColumnId[])), [fields]);
  return (
    <DataTable
      {...state}
      label="Jobs"
      className={styles.jobs}
      rowId={({ id }) => id}
      rowProps={({ isNested }) => (isNested ? { "data-nested": "" } : {})}
      canSelect={({ job }) => !job.folded}
      columns={all}
      shown={["select", "name", ...columns, "actions"]}
      isSorted
      onSort={(sort) => onSort(asSort(sort))}
    />
  );
}
