import { useInfiniteQuery } from "@tanstack/react-query";
import { bareDataset } from "@/features/annotation/model/round";
import { Field } from "@/features/annotation/ui/field";
import { SelectOrType } from "@/features/annotation/ui/select-or-type";
import { datasetsQuery } from "@/features/datasets/api/datasets";
import type { DatasetKind } from "@/lib/api/types";

interface Props {
  label: string;
  note?: string;
  problem?: string | undefined;
  kinds: readonly DatasetKind[];
  /** What an empty choice means; without it, one must be chosen. */
  none?: string | undefined;
  value: string;
  onChange: (id: string) => void;
}

/** The newest datasets of these kinds; any other one by its id. */
export function DatasetSelect({ label, note, problem, kinds, none, value, onChange }: Props) {
  const query = useInfiniteQuery(datasetsQuery({ search: "", kind: null, archived: false }));
  const listed = (query.data?.pages.flatMap((page) => page.data) ?? []).filter((one) => kinds.includes(one.kind));
  const options = listed.map((one) => ({ value: one.id, label: one.name }));
  const version = value.slice(bareDataset(value).length);
  const named = listed.find((one) => one.id === bareDataset(value))?.name;
  // A version of a dataset, as a link may name it, is an option of its own.
  if (version) options.unshift({ value, label: named ? `${named}, version ${version.slice(1)}` : value });
  return (
    <Field label={label} note={note} problem={problem}>
      <SelectOrType
        {...{ options, none, value, onChange }}
        onMore={query.hasNextPage ? () => void query.fetchNextPage() : null}
        placeholder="ds_…"
      />
    </Field>
  );
}
