import { type RunEvent, stageOf } from "@/features/run/model/event";
import type { Stage } from "@/lib/stages";

export type StageState = "waiting" | "active" | "done" | "stopped" | "unreached";

export interface StageView {
  readonly stage: Stage;
  readonly state: StageState;
  /** How long it took, once it is done. */
  readonly seconds: number | null;
  /** Its headline figures, once it is done. */
  readonly summary: Readonly<Record<string, number>>;
}

/** The job's stages, as its log tells of them. `present` is the stage the job is in, `ended` whether for good. */
export function stageViews(
  log: readonly RunEvent[],
  stages: readonly Stage[],
  present: string | null,
  ended: boolean,
): StageView[] {
  const finished = new Map(
    log.filter((event) => event.type === "stage_finished").map((event) => [stageOf(event), event.data]),
  );
  return stages.map((stage) => {
    const data = finished.get(stage);
    const isPresent = stage === present;
    const open = ended ? (isPresent ? "stopped" : "unreached") : isPresent ? "active" : "waiting";
    return {
      stage,
      state: data ? "done" : open,
      seconds: typeof data?.seconds === "number" ? data.seconds : null,
      summary: numbers(data?.summary),
    };
  });
}

function numbers(value: unknown): Record<string, number> {
  const entries = Object.entries(value ?? {}).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return Object.fromEntries(entries);
}
