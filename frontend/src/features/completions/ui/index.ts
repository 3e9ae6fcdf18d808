/** The parts that the run page places. It loads them when their tab is opened. */
export { CompletionsTab } from "@/features/completions/ui/completions-tab";
export { Answer, Answers } from "@/features/completions/ui/answers";
export { CompletionList, Pending } from "@/features/completions/ui/completion-list";
export { Figures, LONG } from "@/features/completions/ui/completion-card";
export { StepPicker } from "@/features/completions/ui/step-picker";
export { OverOptimisation } from "@/features/completions/ui/over-optimisation";
