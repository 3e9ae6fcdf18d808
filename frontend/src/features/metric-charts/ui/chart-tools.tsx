import { loadable } from "@/components/loadable";
import { Popover } from "@/components/popover";
import { AddChart } from "@/features/metric-charts/ui/own-chart";
import type { StageCharts } from "@/features/metric-charts/ui/chart-grid";
import { useParameter } from "@/lib/address";
import styles from "./charts.module.css";

const LookForm = loadable(async () => (await import("@/features/metric-charts/ui/look-form")).LookForm);

/** The text that the address searches metrics for. */
export const useFind = (): string => (useParameter("find")[0] ?? "").trim().toLowerCase();

/** The look of the charts, the search for a metric, and a way to add a chart. `onOpen`: all names are wanted now. */
export function ChartTools({ onOpen, ...charts }: StageCharts & { onOpen?: () => void }) {
  const [found, find] = useParameter("find");
  return (
    <>
      <Popover button="Display" label="Size, columns and marks of the charts">
        <LookForm />
      </Popover>
      <input
        type="search"
        className={styles.find}
        placeholder="Find a metric"
        aria-label="Find a metric"
        value={found ?? ""}
        onChange={(event) => find(event.target.value || null)}
      />
      <AddChart {...charts} {...(onOpen && { onOpen })} />
    </>
  );
}
