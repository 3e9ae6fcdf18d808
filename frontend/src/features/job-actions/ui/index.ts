import { loadable } from "@/components/loadable";

/** The parts that other features place. The code of the second is loaded when a finding is opened. */
export { JobActions } from "@/features/job-actions/ui/job-actions";
export const FindingAction = loadable(
  async () => (await import("@/features/job-actions/ui/finding-action")).FindingAction,
);
