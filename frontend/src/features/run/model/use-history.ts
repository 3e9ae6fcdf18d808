import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { withoutBand } from "@/charts/average";
import type { AxisKind } from "@/charts/axis";
import { HEAD_STEPS, withFiner } from "@/charts/finer";
import type { Placement } from "@/charts/placement";
import type { Series } from "@/charts/series";
import { historyQuery, lineageQuery, startsQuery } from "@/features/run/api";
import { byStage } from "@/features/run/model/state";
import type { HistoryPart, Job, JobEvent } from "@/lib/api/types";
import type { Stage } from "@/lib/states";

/** The curves of an ancestor from before the first step of a run. */
export interface History {
  /** Distinguishes the parts of a stage. */
  readonly key: string;
  /** For the legend, such as "First until step 40". */
  readonly label: string;
  readonly series: Readonly<Record<string, Series>>;
  /** Its last step; null where the stage ran to its end. */
  readonly to: number | null;
  /** The starts of its stages, where they are wanted. */
  readonly log: readonly JobEvent[];
  /** How it lies on the axis; null where it has no place there. */
  readonly placement?: Placement | null;
}

const NONE: readonly History[] = [];
const NO_PARTS: readonly HistoryPart[] = [];

const dataOf = <Data>(results: readonly { data: Data }[]): Data[] => results.map(({ data }) => data);

const NO_EVENTS: readonly JobEvent[] = [];

/**
 * The history of a stage of a branch, oldest first; of other jobs there is none. `gone`: the deleted ancestors of it. A
 * logarithmic axis gets the first steps one by one, and one of clock time the starts of the stages.
 */
export function useHistory(
  job: Job,
  stage: Stage,
  axis: AxisKind,
): { parts: readonly History[]; gone: readonly HistoryPart[] } {
  const isBranch = job.parent?.relation === "branch" || job.parent?.relation === "extend";
  const lineage = useQuery({ ...lineageQuery(job.id), enabled: isBranch });
  const all = lineage.data?.history ?? NO_PARTS;
  const wanted = useMemo(() => all.filter((part) => part.stage === stage), [all, stage]);
  const stored = useMemo(() => wanted.filter((part) => !part.deleted), [wanted]);
  const found = useQueries({
    queries: stored.map((part) => historyQuery(part)),
    combine: dataOf,
  });
  const heads = useQueries({
    queries: stored.map((part) => ({ ...historyQuery(part, HEAD_STEPS), enabled: axis === "log-step" })),
    combine: dataOf,
  });
  const logs = useQueries({
    queries: stored.map((part) => ({ ...startsQuery(part.job), enabled: axis === "time" })),
    combine: dataOf,
  });
  const parts = useMemo(() => {
    const read = stored.flatMap((part, index) => {
      const data = found[index];
      const log = logs[index]?.filter((event) => event.seed === null || event.seed === part.seed);
      return data ? [historyOf(part, data.series, axis === "log-step" ? heads[index]?.series : undefined, log)] : [];
    });
    return read.length ? read : NONE;
  }, [stored, found, heads, logs, axis]);
  return { parts, gone: useMemo(() => wanted.filter((part) => part.deleted), [wanted]) };
}

type Sent = Parameters<typeof byStage>[0];

/** A part with its series. All of one request are of one stage, and of one seed. */
function historyOf(part: HistoryPart, sent: Sent, head: Sent = [], log: readonly JobEvent[] = NO_EVENTS): History {
  const [series, first] = [sent, head].map(
    (one) => Object.assign({}, ...Object.values(byStage(one))) as Record<string, Series>,
  );
  const seed = part.seed === null ? "" : `, seed ${part.seed}`;
  const until = part.to === null ? "" : ` until step ${part.to}`;
  return {
    key: `${part.job} ${part.seed ?? ""}`,
    label: `${part.name || "a run without a name"}${seed}${until}`,
    series: Object.fromEntries(
      Object.entries(series ?? {}).map(([name, one]) => [name, withoutBand(withFiner(first?.[name], one))]),
    ),
    to: part.to,
    log,
  };
}
