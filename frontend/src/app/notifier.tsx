import { Suspense } from "react";
import { loadable } from "@/components/loadable";
import { useNotifications } from "@/lib/notifications";

const JobEnds = loadable(async () => (await import("@/app/job-ends")).JobEnds);

/** Announces by a browser notification that a job has ended or is paused, if the user asked for that. */
export function Notifier() {
  if (useNotifications() !== "on") return null;
  return (
    <Suspense fallback={null}>
      <JobEnds />
    </Suspense>
  );
}
