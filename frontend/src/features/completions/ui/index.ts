/** The parts that the run page places. It loads them when their tab is opened. */
export { CompletionsTab } from "@/features/completions/ui/completions-tab";
export { OverOptimisation } from "@/features/completions/ui/over-optimisation";
