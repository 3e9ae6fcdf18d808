import type { Column } from "@/components/data-table";
import { type FieldColumn, nameOfColumn } from "@/features/jobs/model/fields";
import { foldedCell } from "@/features/jobs/ui/fold";
import type { ListRow } from "@/features/jobs/model/folding";
import { measured, NO_VALUE } from "@/lib/format";
import { fieldName, shortValue } from "@/lib/names";

/** The columns of fields of the spec and of metrics. The server sorts by them. */
export const fieldColumns = (ids: readonly FieldColumn[]): readonly Column<ListRow>[] =>
  ids.map((id) => {
    const name = nameOfColumn(id);
    const isMetric = id.startsWith("metric:");
    return {
      id,
      accessorFn: () => id, // not read
      header: isMetric ? name : fieldName(name, ids.map(nameOfColumn)),
      sortDescFirst: isMetric,
      cell: ({ row: { original } }: { row: { original: ListRow } }) =>
        original.job.folded ? (
          foldedCell(id, original.job.folded)
        ) : (
          <Value value={original.job.shown[id]} isMetric={isMetric} />
        ),
      meta: { label: name, title: name },
    };
  });

function Value({ value, isMetric }: { value: unknown; isMetric: boolean }) {
  if (value === null || value === undefined) return NO_VALUE;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const shown = isMetric && typeof value === "number" ? measured(value) : shortValue(value);
  return <span title={text}>{shown.length > 40 ? `${shown.slice(0, 39)}…` : shown}</span>;
}
