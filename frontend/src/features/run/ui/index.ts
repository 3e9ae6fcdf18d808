/** The labels of metrics, for tables of other features. */
export { useLabels } from "@/features/run/model/meanings";
