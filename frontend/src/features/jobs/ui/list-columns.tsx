import { type Column, selectionColumn } from "@/components/data-table";
import { JobActions } from "@/features/job-actions/ui";
import { COLUMNS } from "@/features/jobs/model/columns";
import type { FieldColumn } from "@/features/jobs/model/fields";
import type { ListRow } from "@/features/jobs/model/folding";
import { fieldColumns } from "@/features/jobs/ui/field-columns";
import { foldedCell, FoldedName } from "@/features/jobs/ui/fold";
import { CELLS, Name } from "@/features/jobs/ui/job-columns";
import styles from "./jobs.module.css";

/** The server sorts, so the value of an accessor is not read. */
const sortable = { accessorFn: ({ id }: ListRow) => id };

type Row = { row: { original: ListRow } };

const FIXED: readonly Column<ListRow>[] = COLUMNS.map(({ id, label, sorts }) => {
  const { cell, ...meta } = CELLS[id];
  return {
    ...(sorts && sortable),
    id,
    header: label,
    sortDescFirst: sorts === "down",
    cell: ({ row: { original: one } }: Row) => (one.job.folded ? foldedCell(id, one.job.folded) : cell(one.job)),
    meta,
  };
});

/** The columns of the table, with those of `fields` and metrics. */
export const jobColumns = (fields: readonly FieldColumn[]): readonly Column<ListRow>[] => [
  selectionColumn("Select all jobs shown", ({ job }) => job.name || job.id),
  {
    ...sortable,
    id: "name",
    header: "Job",
    sortDescFirst: false,
    cell: ({ row: { original: one } }) =>
      one.job.folded ? <FoldedName folded={one.job.folded} /> : <Name job={one.job} />,
    meta: { className: styles.name, isRowHead: true },
  },
  ...FIXED,
  ...fieldColumns(fields),
  {
    id: "actions",
    header: () => <span className="visually-hidden">Actions</span>,
    cell: ({ row: { original: one } }) => !one.job.folded && <JobActions job={one.job} look="row" />,
    meta: { className: styles.menu },
  },
];
