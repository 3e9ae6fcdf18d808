import { Suspense, useState } from "react";
import { Button } from "@/components/button";
import { loadable } from "@/components/loadable";
import type { OwnChart } from "@/features/metric-charts/model/own-charts";
import type { ChartEditorProps } from "@/features/metric-charts/ui/chart-editor";

const Editor = loadable(async () => (await import("@/features/metric-charts/ui/chart-editor")).ChartEditor);

/** A dialog for a chart of chosen metrics, whose code is loaded with its first use. */
export function ChartEditor(props: ChartEditorProps) {
  const [used, setUsed] = useState(props.open);
  if (props.open && !used) setUsed(true);
  return used && <Suspense fallback={null}>{<Editor {...props} />}</Suspense>;
}

/** Deletes a chart of the user, and offers to take that back. */
export const deleteChart = async (place: string, chart: OwnChart): Promise<void> =>
  (await import("@/features/metric-charts/ui/chart-editor")).deleteChart(place, chart);

interface AddChartProps extends Omit<ChartEditorProps, "chart" | "open" | "onClose"> {
  onOpen?: () => void;
}

export function AddChart({ onOpen, ...props }: AddChartProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button
        onClick={() => {
          onOpen?.();
          setOpen(true);
        }}
      >
        Add a chart
      </Button>
      <ChartEditor {...props} chart={null} open={open} onClose={() => setOpen(false)} />
    </>
  );
}
