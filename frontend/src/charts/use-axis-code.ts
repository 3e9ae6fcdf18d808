import { useEffect, useState } from "react";
import { type AxisKind, isStepAxis } from "@/charts/axis";
import { ON_STEPS } from "@/charts/placement";

/** Places runs on an axis (see origin.ts). */
export type AxisCode = Pick<typeof import("@/charts/origin"), "lineOf" | "placementOf">;

const OF_STEPS: AxisCode = {
  lineOf: (_axis, _stage, ancestors) => ({ placements: ancestors.map(() => ON_STEPS), origin: undefined }),
  placementOf: () => ON_STEPS,
};

let loaded: AxisCode | null = null;

/** The code for an axis; null until it is loaded. A failure to load it reaches the nearest error boundary. */
export function useAxisCode(kind: AxisKind): AxisCode | null {
  const [code, setCode] = useState(loaded);
  const isNeeded = !isStepAxis(kind) && code === null;
  useEffect(() => {
    if (!isNeeded) return;
    const fail = (error: unknown) =>
      setCode(() => {
        throw error;
      });
    import("@/charts/origin").then((found) => setCode((loaded = found)), fail);
  }, [isNeeded]);
  return isStepAxis(kind) ? OF_STEPS : code;
}
