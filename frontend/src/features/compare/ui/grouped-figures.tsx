import { useMemo } from "react";
import { lineSample } from "@/charts/palette";
import { type Column, columnsOf, DataTable } from "@/components/data-table";
import { type Group, shortText } from "@/features/compare/model/differences";
import { bestIndices, type Figure, FIGURES } from "@/features/compare/model/figures";
import { groupFigure, type GroupFigure, rangeText, othersText } from "@/features/compare/model/group-figures";
import { FigureTable, type RunsProps } from "@/features/compare/ui/tables";
import { useParameter } from "@/lib/address";
import type { Job } from "@/lib/api/types";
import { count, NO_VALUE } from "@/lib/format";
import styles from "./compare.module.css";

interface GroupedFiguresProps extends RunsProps {
  /** The field whose values are the rows. */
  by: string;
  groups: readonly Group<Job>[];
}

/** The figures of each value of a field: means over the runs with this value. The single runs follow on demand. */
export function GroupedFigures({ by, groups, ...runs }: GroupedFiguresProps) {
  const [sort, setSort] = useParameter("sort");
  const columns = useMemo(() => columnsFor(by, groups), [by, groups]);
  return (
    <>
      <p className={styles.note}>
        One row for each value of <code>{by}</code>: the mean over its n runs, and below it the 95 % t interval of this
        mean, mean ± t · s / √n. Each seed of a run counts. Runs that have not ended with the figure are left out. The
        interval shows how far runs differ; one run has none. The best step is a range.
      </p>
      <DataTable
        label="Final figures by group"
        look="plain"
        sticky
        className={styles.figures}
        rows={groups}
        rowId={(group) => group.key}
        columns={columns}
        sort={sort}
        onSort={setSort}
      />
      <details className={styles.single}>
        <summary>{count(runs.jobs.length, "run")}, one by one</summary>
        <FigureTable {...runs} />
      </details>
    </>
  );
}

type Row = Group<Job>;

function columnsFor(by: string, groups: readonly Row[]): readonly Column<Row>[] {
  const of = columnsOf<Row>();
  const order = new Map(groups.map(({ key }, index) => [key, index]));
  const shown = FIGURES.filter((figure) => groups.some(({ runs }) => groupFigure(figure, runs)));
  return [
    of.accessor(({ key }) => order.get(key), {
      id: "value",
      header: by,
      cell: ({ row }) => <GroupName group={row.original} colour={order.get(row.id) ?? 0} />,
      meta: { isRowHead: true },
    }),
    of.accessor(({ runs }) => runs.length, {
      id: "runs",
      header: "Runs",
      cell: ({ row: { original: group } }) => (
        <>
          {group.runs.length}
          <small className={styles.interval}>{othersText(group.runs)}</small>
        </>
      ),
    }),
    ...shown.map((figure) => columnOf(figure, groups)),
  ];
}

function columnOf(figure: Figure, groups: readonly Row[]): Column<Row> {
  const found = new Map(groups.map(({ key, runs }) => [key, groupFigure(figure, runs)]));
  const best = bestIndices([...found.values()].map((one) => one?.mean ?? null), figure.better); // prettier-ignore
  return columnsOf<Row>().accessor(({ key }) => found.get(key)?.mean ?? undefined, {
    id: figure.id,
    header: figure.label.replace(/ \(.*/, ""),
    cell: ({ row }) =>
      figure.id === "best_step" ? (
        (rangeText(figure, row.original.runs) ?? NO_VALUE)
      ) : (
        <Mean found={found.get(row.id) ?? null} figure={figure} isBest={best.has(row.index)} />
      ),
  });
}

function GroupName({ group, colour }: { group: Row; colour: number }) {
  return (
    <span className={styles.name}>
      <i style={{ background: lineSample(colour) }} aria-hidden />
      <span className={styles.value} title={group.key}>
        {shortText(group.key)}
      </span>
    </span>
  );
}

function Mean({ found, figure, isBest }: { found: GroupFigure | null; figure: Figure; isBest: boolean }) {
  if (!found) return NO_VALUE;
  const { mean, low, high, n } = found;
  const interval = low === null || high === null ? "" : `${figure.show(low)} to ${figure.show(high)}, `;
  return (
    <>
      <span className={isBest ? styles.best : undefined}>
        {figure.show(mean)}
        {isBest && <span className="visually-hidden"> (best)</span>}
      </span>
      <small className={styles.interval}>{`${interval}n\u00a0=\u00a0${n}`}</small>
    </>
  );
}
