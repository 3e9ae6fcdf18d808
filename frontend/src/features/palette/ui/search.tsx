import { useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { type CommandGroup, CommandList } from "@/components/command-list";
import { searchQuery } from "@/features/palette/api";
import { placesFor, spoken } from "@/features/palette/model";
import { paths } from "@/lib/address";
import { jobName } from "@/lib/names";

interface SearchProps {
  text: string;
  onText: (text: string) => void;
  onGo: (to: string) => void;
}

/** Pages, jobs and datasets by name. Loaded when it is first opened. */
export function Search({ text, onText, onGo }: SearchProps) {
  const asked = useDeferredValue(text.trim());
  const found = useQuery(searchQuery(asked));
  const { jobs = [], datasets = [] } = found.data ?? {};
  const all: CommandGroup[] = [
    {
      label: "Pages",
      commands: placesFor(text).map(({ label, to, keys }) => ({
        id: to,
        label,
        hint: keys && spoken(keys),
        run: () => onGo(to),
      })),
    },
    {
      label: "Jobs",
      commands: jobs.map((job) => ({
        id: job.id,
        label: jobName(job),
        hint: job.status,
        run: () => onGo(paths.job(job.id)),
      })),
    },
    {
      label: "Datasets",
      commands: datasets.map((one) => ({
        id: one.id,
        label: one.name,
        hint: one.kind,
        run: () => onGo(paths.dataset(one.id)),
      })),
    },
  ];
  const groups = all.filter(({ commands }) => commands.length > 0);
  return (
    <CommandList
      label="Go to a page, a job or a dataset"
      placeholder="Name of a page, a job or a dataset"
      text={text}
      onText={onText}
      groups={groups}
      status={statusOf(found.isError, found.isFetching, groups.length)}
    />
  );
}

function statusOf(isError: boolean, isFetching: boolean, groups: number): string {
  if (isError) return "The server does not respond. Jobs and datasets are not searched.";
  if (isFetching) return "Searching…";
  return groups ? "" : "Nothing has this name.";
}
