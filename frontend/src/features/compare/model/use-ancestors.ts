import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import type { AxisKind } from "@/charts/axis";
import type { Ancestor } from "@/charts/origin";
import { toSeries } from "@/charts/series";
import { historyQuery, lineageQuery } from "@/features/run/api";
import type { HistoryPart, Job } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

const dataOf = <Data>(results: readonly { data: Data }[]): Data[] => results.map(({ data }) => data);

const continues = ({ parent }: Job): boolean => parent?.relation === "branch" || parent?.relation === "extend";

/** The stored ancestors of each run, oldest first, on axes on which a run goes on where they end. */
export function useAncestors(runs: readonly Job[], stage: Stage, axis: AxisKind): Ancestor[][] {
  const wanted = axis === "elapsed" || axis === "tokens";
  const lineages = useQueries({
    queries: runs.map((run) => ({ ...lineageQuery(run.id), enabled: wanted && continues(run) })),
    combine: dataOf,
  });
  const parts = useMemo(
    () => lineages.map((found) => (found?.history ?? []).filter((part) => part.stage === stage && !part.deleted)),
    [lineages, stage],
  );
  const flat = useMemo(() => parts.flat(), [parts]);
  const sent = useQueries({ queries: flat.map((part) => historyQuery(part)), combine: dataOf });
  return useMemo(() => {
    const series = new Map<HistoryPart, Ancestor>();
    flat.forEach((part, index) => {
      const found = sent[index]?.series.map((one) => [one.name, toSeries(one)] as const) ?? [];
      series.set(part, { series: Object.fromEntries(found), log: [], to: part.to });
    });
    return parts.map((of) => of.flatMap((part) => series.get(part) ?? []));
  }, [parts, flat, sent]);
}
