import { useInfiniteQuery } from "@tanstack/react-query";
import { Combobox } from "@/components/combobox";
import { jobsQuery } from "@/features/jobs/api";
import { jobOptions } from "@/lib/names";

interface AddRunProps {
  taken: readonly string[];
  onAdd: (id: string) => void;
}

/** A field that adds a run by its name or id. */
export function AddRun({ taken, onAdd }: AddRunProps) {
  const query = useInfiniteQuery(jobsQuery);
  const jobs = query.data?.pages.flatMap((page) => page.data) ?? [];
  const options = jobOptions(jobs).filter(({ value }) => !taken.includes(value));
  return (
    <Combobox
      label="Add a run"
      placeholder="Name or id of a run"
      autoFocus
      options={options}
      value=""
      onChange={(id) => id && onAdd(id)}
      onMore={query.hasNextPage ? () => void query.fetchNextPage() : null}
    />
  );
}
