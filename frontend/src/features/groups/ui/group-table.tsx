import { useMemo } from "react";
import { columnsOf, DataTable } from "@/components/data-table";
import { StatusBadge } from "@/components/status";
import { RowLink } from "@/components/table";
import type { Group, GroupJob } from "@/features/groups/api";
import { sortValue, valueText } from "@/features/groups/model/parameters";
import { paths, useParameter } from "@/lib/address";
import { count, measured } from "@/lib/format";
import { shortValue, sweepName } from "@/lib/names";
import { spreadText } from "@/lib/seeds";

interface GroupTableProps {
  group: Group;
  parameters: readonly string[];
  /** Label of the objective. */
  label: string;
}

/** The jobs with their parameters and objective, the best first. */
export function GroupTable({ group, parameters, label }: GroupTableProps) {
  const [sort, setSort] = useParameter("sort");
  const columns = useMemo(() => columnsFor(group.metric, label, parameters), [group.metric, label, parameters]);
  return (
    <DataTable
      label="Jobs of the group"
      rows={group.jobs}
      rowId={(job) => job.id}
      columns={columns}
      sort={sort}
      onSort={setSort}
    />
  );
}

/** `label`: that of the objective. */
function columnsFor(metric: string, label: string, parameters: readonly string[]) {
  const of = columnsOf<GroupJob>();
  return of.columns([
    of.accessor(({ name, number }) => name || `Run ${number}`, {
      id: "name",
      header: "Job",
      cell: ({ getValue, row: { original: job } }) => (
        <RowLink to={paths.job(job.id)}>
          <span title={job.name}>{sweepName({ name: getValue() }, job.values).name}</span>
        </RowLink>
      ),
      meta: { isRowHead: true },
    }),
    of.accessor((job) => job.objective ?? undefined, {
      id: "objective",
      header: label,
      cell: ({ getValue, row: { original: job } }) => objectiveText(getValue(), job),
      meta: { label, title: metric },
    }),
    ...parameters.map((path) =>
      of.accessor(({ values }) => sortValue(values[path]), {
        id: path,
        header: path,
        cell: ({ row }) => <Value value={row.original.values[path]} />,
        meta: { label: path },
      }),
    ),
    of.accessor("status", {
      header: "Status",
      cell: ({ getValue }) => <StatusBadge status={getValue()} />,
    }),
  ]);
}

/** The objective; of several seeds the mean, with its interval once the job has finished. */
function objectiveText(
  value: number | undefined,
  { objective_low: low, objective_high: high, seeds }: GroupJob,
): string {
  if (value === undefined || seeds === 1) return measured(value);
  return low === null
    ? `${measured(value)} (${count(seeds, "seed")})`
    : spreadText({ mean: value, low, high }, seeds, measured);
}

function Value({ value }: { value: unknown }) {
  const text = valueText(value);
  return value === undefined ? text : <span title={text}>{shortValue(value)}</span>;
}
