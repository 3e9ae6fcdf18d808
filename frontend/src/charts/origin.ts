import type { AxisKind } from "@/charts/axis";
import type { Located, Origin, Placement } from "@/charts/placement";
import { placementOf } from "@/charts/positions";

/** A run that another one continues, and its last step before that one; null where it ran to its end. */
export interface Ancestor extends Omit<Located, "stage" | "origin"> {
  readonly to: number | null;
}

/** Where each ancestor lies on an axis, oldest first, and where the run after them begins. */
export function lineOf(
  axis: AxisKind,
  stage: string,
  ancestors: readonly Ancestor[],
): { placements: (Placement | null)[]; origin: Origin | undefined } {
  let origin: Origin | undefined;
  const placements = ancestors.map(({ series, log, to }) => {
    const placement = placementOf(axis, { series, log, stage, origin });
    origin = to === null || !placement?.along ? undefined : { step: to, at: placement.along(to) };
    return placement;
  });
  return { placements, origin };
}

export { placementOf };
