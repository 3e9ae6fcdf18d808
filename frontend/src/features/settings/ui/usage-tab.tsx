import { useQuery } from "@tanstack/react-query";
import { Card } from "@/components/card";
import { ErrorNotice } from "@/components/notice";
import { ProgressBar, Skeleton } from "@/components/status";
import { usageQuery } from "@/features/settings/api";
import { type UsageLine, usageLines } from "@/features/settings/model";
import styles from "./settings.module.css";

const WHEN_EXCEEDED = {
  queue: "A job beyond the limit of running jobs, GPUs or GPU-hours waits in the queue.",
  refuse: "A job beyond the limit of running jobs, GPUs or GPU-hours is refused at submission.",
};

export function UsageTab() {
  const query = useQuery(usageQuery);
  if (query.isPending) return <Skeleton rows={5} height="2rem" label="Loading usage" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="load your usage" onRetry={() => void query.refetch()} />;
  }
  const usage = query.data;
  return (
    <div className={styles.stack}>
      <Card title="Your use of the platform" className={styles.usage}>
        {usageLines(usage).map((line) => (
          <Line key={line.name} line={line} />
        ))}
      </Card>
      <p className={styles.note}>
        {WHEN_EXCEEDED[usage.limits.when_exceeded]} A line without a bar has no limit. The operator sets the limits.
      </p>
    </div>
  );
}

function Line({ line: { name, text, fraction } }: { line: UsageLine }) {
  return (
    <div className={styles.usageLine}>
      <span>{name}</span>
      <b>{text}</b>
      {fraction !== null && (
        <ProgressBar fraction={fraction} label={name} tone={fraction >= 1 ? "bad" : fraction > 0.8 ? "warn" : "good"} />
      )}
    </div>
  );
}
