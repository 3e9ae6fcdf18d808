import { Suspense } from "react";
import { loadable } from "@/components/loadable";
import { InfoTip } from "@/components/popover";
import type { Meaning } from "@/features/metric-charts/model/meanings";

const NoteList = loadable(async () => (await import("@/features/metric-charts/ui/note-list")).NoteList);

/** A button that shows meaning, formula and healthy range of a chart's metrics. */
export function MetricNotes({ title, notes }: { title: string; notes: readonly Meaning[] }) {
  if (!notes.length) return null;
  return (
    <InfoTip label={`About: ${title}`}>
      <Suspense fallback={null}>
        <NoteList notes={notes} />
      </Suspense>
    </InfoTip>
  );
}
