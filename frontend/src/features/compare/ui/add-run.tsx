import { useInfiniteQuery } from "@tanstack/react-query";
import { Combobox } from "@/components/combobox";
import { jobsQuery } from "@/features/jobs/api";
import { jobName } from "@/lib/states";
import styles from "./compare.module.css";

interface AddRunProps {
  taken: readonly string[];
  onAdd: (id: string) => void;
}

/** Adds a run by its name or id. */
export function AddRun({ taken, onAdd }: AddRunProps) {
  const query = useInfiniteQuery(jobsQuery);
  const jobs = query.data?.pages.flatMap((page) => page.data) ?? [];
  const options = jobs
    .filter(({ id }) => !taken.includes(id))
    .map((job) => ({ value: job.id, label: `${jobName(job)} (${job.id.slice(-6)})` }));
  return (
    <div className={styles.add}>
      <Combobox
        label="Add a run"
        placeholder="Add a run"
        options={options}
        value=""
        onChange={(id) => id && onAdd(id)}
        onMore={query.hasNextPage ? () => void query.fetchNextPage() : null}
      />
    </div>
  );
}
