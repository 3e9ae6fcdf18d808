import { useMemo } from "react";
import type { AxisKind } from "@/charts/axis";
import type { Mark, PlacedMark } from "@/charts/marks";
import { lineOf } from "@/charts/origin";
import { placementOf } from "@/charts/positions";
import type { SeedRun } from "@/features/run/model/seeds";
import type { History } from "@/features/run/model/use-history";
import type { JobEvent } from "@/lib/api/types";

/** A run with the events of its job, or of its seed. */
export interface LoggedRun extends SeedRun {
  readonly log: readonly JobEvent[];
}

/** Runs and their ancestors, each with its place on the axis. A run goes on where its last ancestor ends. */
export function placedOn(
  axis: AxisKind,
  stage: string,
  runs: readonly LoggedRun[],
  history: readonly History[],
): { runs: LoggedRun[]; history: History[] } {
  const { placements, origin } = lineOf(axis, stage, history);
  return {
    history: history.map((part, index) => ({ ...part, placement: placements[index] ?? null })),
    runs: runs.map((run) => ({ ...run, placement: placementOf(axis, { ...run, stage, origin }) })),
  };
}

/** Places marks by the steps of their seed. Those without a place on the axis are left out. */
export function placedMarks(marks: readonly Mark[], runs: readonly SeedRun[]): PlacedMark[] {
  return marks.flatMap((mark) => {
    const run = runs.find(({ seed }) => seed === mark.seed) ?? runs[0];
    if (run?.placement === null) return [];
    const at = run?.placement?.along ? run.placement.along(mark.step) : mark.step;
    return Number.isFinite(at) ? [{ ...mark, at }] : [];
  });
}

export const usePlaced = (
  axis: AxisKind,
  stage: string,
  runs: readonly LoggedRun[],
  history: readonly History[],
): ReturnType<typeof placedOn> => useMemo(() => placedOn(axis, stage, runs, history), [axis, stage, runs, history]);
