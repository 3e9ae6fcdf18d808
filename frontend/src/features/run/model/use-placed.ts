import { useMemo } from "react";
import type { AxisKind } from "@/charts/axis";
import type { Mark, PlacedMark } from "@/charts/marks";
import { type AxisCode, useAxisCode } from "@/charts/use-axis-code";
import type { SeedRun } from "@/features/run/model/seeds";
import type { History } from "@/features/run/model/use-history";
import type { JobEvent } from "@/lib/api/types";

/** A run with the events of its job, or of its seed. */
export interface LoggedRun extends SeedRun {
  readonly log: readonly JobEvent[];
}

interface Placed {
  readonly runs: readonly LoggedRun[];
  readonly history: readonly History[];
  /** Whether the code of the axis is loaded. Until then nothing has a place. */
  readonly isReady: boolean;
}

/** Runs and their ancestors, each with its place on the axis. A run goes on where its last ancestor ends. */
export function placedOn(
  code: AxisCode | null,
  axis: AxisKind,
  stage: string,
  runs: readonly LoggedRun[],
  history: readonly History[],
): Placed {
  const { placements, origin } = code?.lineOf(axis, stage, history) ?? { placements: [] };
  return {
    isReady: code !== null,
    history: history.map((part, index) => ({ ...part, placement: placements[index] ?? null })),
    runs: runs.map((run) => ({ ...run, placement: code?.placementOf(axis, { ...run, stage, origin }) ?? null })),
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

export function usePlaced(
  axis: AxisKind,
  stage: string,
  runs: readonly LoggedRun[],
  history: readonly History[],
): Placed {
  const code = useAxisCode(axis);
  return useMemo(() => placedOn(code, axis, stage, runs, history), [code, axis, stage, runs, history]);
}
