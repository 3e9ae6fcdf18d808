import {
  type ColumnDef,
  columnOrderingFeature,
  columnVisibilityFeature,
  createColumnHelper,
  createSortedRowModel,
  type Header,
  metaHelper,
  type RowData,
  rowSelectionFeature,
  rowSortingFeature,
  sortFn_alphanumeric,
  sortFn_text,
  tableFeatures,
  type Updater,
  useTable,
} from "@tanstack/react-table";
import { type ComponentProps, useMemo } from "react";
import { Table } from "@/components/table";
import styles from "./table.module.css";

interface CellMeta {
  className?: string | undefined;
  headClassName?: string | undefined;
  /** Names the value where the rows stack on a narrow screen. */
  label?: string;
  /** Whether the cell names its row. */
  isRowHead?: boolean;
  /** Explains the head on hover. */
  title?: string;
}

const features = tableFeatures({
  columnOrderingFeature,
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric, text: sortFn_text },
  columnMeta: metaHelper<CellMeta>(),
});
type Features = typeof features;

/** A column. It sorts if it has an accessor; rows whose value is undefined come last. Columns must not be made at each rendering. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the columns of a table have values of several types
export type Column<Row extends RowData> = ColumnDef<Features, Row, any>;

export const columnsOf = <Row extends RowData>() => createColumnHelper<Features, Row>();

interface DataTableProps<Row extends RowData> extends Omit<
  ComponentProps<typeof Table>,
  "head" | "children" | "bodies"
> {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowId: (row: Row) => string;
  /** Attributes of a row's element. */
  rowProps?: (row: Row) => object;
  /** The column that is sorted by, with "-" in front for descending; null is the order of the rows. */
  sort?: string | null;
  onSort?: (sort: string | null) => void;
  /** Whether the rows come in this order already. */
  isSorted?: boolean;
  /** Ids of the columns that are shown, in their order; all by default. */
  shown?: readonly string[];
  selected?: readonly string[];
  onSelect?: (ids: readonly string[]) => void;
  /** Whether a row can be selected; all can by default. */
  canSelect?: (row: Row) => boolean;
}

/** A table whose heads sort it, whose columns can be chosen and whose rows can be selected, as far as the page asks for it. */
export function DataTable<Row extends RowData>({
  rows,
  columns,
  rowId,
  rowProps,
  sort = null,
  onSort,
  isSorted = false,
  shown,
  selected = [],
  onSelect,
  canSelect = () => true,
  ...look
}: DataTableProps<Row>) {
  const sorting = useMemo(() => (sort ? [{ id: sort.replace(/^-/, ""), desc: sort.startsWith("-") }] : []), [sort]);
  const rowSelection = Object.fromEntries(selected.map((id) => [id, true as const]));
  const table = useTable({
    features,
    data: rows,
    columns,
    getRowId: rowId,
    defaultColumn: { sortUndefined: "last" },
    enableSorting: onSort !== undefined,
    enableMultiSort: false,
    enableRowSelection: ({ original }) => canSelect(original),
    manualSorting: isSorted,
    state: { sorting, rowSelection, ...(shown && placesOf(columns, shown)) },
    onSortingChange: (change) => {
      const next = applied(change, sorting)[0];
      onSort?.(next ? `${next.desc ? "-" : ""}${next.id}` : null);
    },
    onRowSelectionChange: (change) => onSelect?.(Object.keys(applied(change, rowSelection))),
  });
  const heads = table.getHeaderGroups().flatMap((group) => group.headers);
  return (
    <Table
      {...look}
      head={heads.map((header) => (
        <Head key={header.id} header={header} table={table} />
      ))}
    >
      {table.getRowModel().rows.map((row) => (
        <tr key={row.id} {...rowProps?.(row.original)}>
          {row.getVisibleCells().map((cell) => {
            const { className, label, isRowHead } = cell.column.columnDef.meta ?? {};
            return isRowHead ? (
              <th key={cell.id} scope="row" className={className}>
                <table.FlexRender cell={cell} />
              </th>
            ) : (
              <td key={cell.id} className={className} data-label={label}>
                <table.FlexRender cell={cell} />
              </td>
            );
          })}
        </tr>
      ))}
    </Table>
  );
}

const applied = <State,>(change: Updater<State>, state: State): State =>
  typeof change === "function" ? (change as (before: State) => State)(state) : change;

const placesOf = <Row extends RowData>(columns: readonly Column<Row>[], shown: readonly string[]) => ({
  columnOrder: [...shown],
  columnVisibility: Object.fromEntries(columns.map(({ id = "" }) => [id, shown.includes(id)])),
});

interface HeadProps<Row extends RowData> {
  header: Header<Features, Row>;
  table: ReturnType<typeof useTable<Features, Row>>;
}

function Head<Row extends RowData>({ header, table }: HeadProps<Row>) {
  const { column } = header;
  const { headClassName, title } = column.columnDef.meta ?? {};
  const order = column.getIsSorted();
  const content = <table.FlexRender header={header} />;
  return (
    <th
      scope="col"
      className={headClassName}
      title={title}
      aria-sort={order ? (order === "desc" ? "descending" : "ascending") : undefined}
    >
      {column.getCanSort() ? (
        <button type="button" className={styles.sort} onClick={column.getToggleSortingHandler()}>
          {content}
          {order && <span aria-hidden>{order === "desc" ? " ↓" : " ↑"}</span>}
        </button>
      ) : (
        content
      )}
    </th>
  );
}

/** A column of boxes that select rows. A click with Shift selects a range. */
export function selectionColumn<Row extends RowData>(all: string, nameOf: (row: Row) => string): Column<Row> {
  return {
    id: "select",
    header: ({ table }) => (
      <input
        type="checkbox"
        aria-label={all}
        checked={table.getIsAllRowsSelected()}
        onChange={table.getToggleAllRowsSelectedHandler()}
      />
    ),
    cell: ({ row }) =>
      row.getCanSelect() && (
        <input
          type="checkbox"
          aria-label={`Select ${nameOf(row.original)}`}
          checked={row.getIsSelected()}
          onChange={row.getToggleSelectedHandler()}
        />
      ),
    meta: { className: styles.pick, headClassName: styles.pick },
  };
}
