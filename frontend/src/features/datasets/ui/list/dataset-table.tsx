import { CopyButton } from "@/components/button";
import { type Column, columnsOf, DataTable } from "@/components/data-table";
import { ProgressBar, StatusBadge } from "@/components/status";
import { RowLink } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { kindLabel } from "@/features/datasets/model/kinds";
import { paths } from "@/lib/address";
import type { Dataset } from "@/lib/api/types";
import { bytes, count, NO_VALUE } from "@/lib/format";
import styles from "@/features/datasets/ui/datasets.module.css";

/** The server sorts, so the value of an accessor is not read. */
const of = columnsOf<Dataset>();
const sortable = (dataset: Dataset) => dataset.id;

const COLUMNS: readonly Column<Dataset>[] = of.columns([
  of.accessor(sortable, {
    id: "name",
    header: "Dataset",
    sortDescFirst: false,
    cell: ({ row }) => <Name dataset={row.original} />,
    meta: { className: styles.name, isRowHead: true },
  }),
  of.accessor(sortable, {
    id: "kind",
    header: "Kind",
    sortDescFirst: false,
    cell: ({ row }) => kindLabel(row.original.kind),
  }),
  of.display({ id: "status", header: "Status", cell: ({ row }) => <Status dataset={row.original} /> }),
  of.accessor(sortable, {
    id: "rows",
    header: "Rows",
    sortDescFirst: true,
    cell: ({ row: { original } }) => (original.rows === null ? NO_VALUE : count(original.rows, "row")),
  }),
  of.display({
    id: "findings",
    header: "Findings",
    cell: ({ row }) => <FindingCounts findings={row.original.findings} />,
  }),
  of.accessor(sortable, {
    id: "size",
    header: "Size",
    sortDescFirst: true,
    cell: ({ row: { original } }) => (original.bytes === null ? NO_VALUE : bytes(original.bytes)),
  }),
  of.accessor(sortable, {
    id: "created",
    header: "Added",
    sortDescFirst: true,
    cell: ({ row }) => <TimeAgo time={row.original.created_at} />,
  }),
  of.display({
    id: "actions",
    header: () => <span className="visually-hidden">Actions</span>,
    cell: ({ row: { original } }) => <CopyButton text={original.id} label="Copy id" of={original.name} />,
    meta: { className: styles.copy },
  }),
]);

interface DatasetTableProps {
  datasets: readonly Dataset[];
  sort: string | null;
  onSort: (sort: string | null) => void;
}

export function DatasetTable({ datasets, sort, onSort }: DatasetTableProps) {
  return (
    <DataTable
      label="Datasets"
      className={styles.table}
      rows={datasets}
      rowId={(dataset) => dataset.id}
      columns={COLUMNS}
      sort={sort}
      onSort={onSort}
      isSorted
    />
  );
}

function Name({ dataset }: { dataset: Dataset }) {
  return (
    <>
      <RowLink to={paths.dataset(dataset.id)}>{dataset.name}</RowLink>
      <code>{dataset.id}</code>
      {dataset.version > 1 && <small>version {dataset.version}</small>}
    </>
  );
}

function Status({ dataset }: { dataset: Dataset }) {
  return (
    <>
      {dataset.damage !== null && <StatusBadge status="damaged" />}
      <StatusBadge status={dataset.archived_at ? "archived" : dataset.status} />
      {dataset.status === "importing" && (
        <ProgressBar fraction={dataset.progress?.fraction ?? 0} label={`Import of ${dataset.name}`} />
      )}
    </>
  );
}

/** How many kinds of trouble the newest version has, by how bad they are. */
function FindingCounts({ findings }: { findings: { blocking: number; warning: number } }) {
  const { blocking, warning } = findings;
  if (!blocking && !warning) return <span className={styles.none}>no findings</span>;
  return (
    <span className={styles.counts}>
      {blocking > 0 && <b className={styles.bad}>{count(blocking, "blocking", "blocking")}</b>}
      {warning > 0 && <b className={styles.warn}>{count(warning, "warning")}</b>}
    </span>
  );
}
