import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { withoutBand } from "@/charts/average";
import type { Series } from "@/charts/series";
import { historyQuery, lineageQuery } from "@/features/run/api";
import { byStage } from "@/features/run/model/state";
import type { HistoryPart, Job } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

/** The curves of an ancestor from before the first step of a run. */
export interface History {
  /** Distinguishes the parts of a stage. */
  readonly key: string;
  /** For the legend, such as "First until step 40". */
  readonly label: string;
  readonly series: Readonly<Record<string, Series>>;
}

const NONE: readonly History[] = [];
const NO_PARTS: readonly HistoryPart[] = [];

const dataOf = <Data>(results: readonly { data: Data }[]): Data[] => results.map(({ data }) => data);

/** The history of a stage of a branch, oldest first; of other jobs there is none. `gone`: the deleted ancestors of it. */
export function useHistory(job: Job, stage: Stage): { parts: readonly History[]; gone: readonly HistoryPart[] } {
  const isBranch = job.parent?.relation === "branch" || job.parent?.relation === "extend";
  const lineage = useQuery({ ...lineageQuery(job.id), enabled: isBranch });
  const all = lineage.data?.history ?? NO_PARTS;
  const wanted = useMemo(() => all.filter((part) => part.stage === stage), [all, stage]);
  const stored = useMemo(() => wanted.filter((part) => !part.deleted), [wanted]);
  const found = useQueries({
    queries: stored.map((part) => historyQuery(part)),
    combine: dataOf,
  });
  const parts = useMemo(() => {
    const read = stored.flatMap((part, index) => {
      const data = found[index];
      return data ? [historyOf(part, data.series)] : [];
    });
    return read.length ? read : NONE;
  }, [stored, found]);
  return { parts, gone: useMemo(() => wanted.filter((part) => part.deleted), [wanted]) };
}

/** A part with its series. All of one request are of one stage, and of one seed. */
export function historyOf(part: HistoryPart, sent: Parameters<typeof byStage>[0]): History {
  const series = Object.assign({}, ...Object.values(byStage(sent))) as Record<string, Series>;
  const seed = part.seed === null ? "" : `, seed ${part.seed}`;
  const until = part.to === null ? "" : ` until step ${part.to}`;
  return {
    key: `${part.job} ${part.seed ?? ""}`,
    label: `${part.name || "a run without a name"}${seed}${until}`,
    series: Object.fromEntries(Object.entries(series).map(([name, one]) => [name, withoutBand(one)])),
  };
}
