/** The parts that other features place. */
export { FindingAction } from "@/features/job-actions/ui/finding-action";
export { JobActions } from "@/features/job-actions/ui/job-actions";
