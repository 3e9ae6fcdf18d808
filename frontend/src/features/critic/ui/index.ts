/** The part that the run page places. It loads it when the tab is opened. */
export { CriticTab } from "@/features/critic/ui/critic-tab";
