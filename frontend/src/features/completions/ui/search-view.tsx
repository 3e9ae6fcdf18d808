import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { searchQuery } from "@/features/completions/api/samples";
import { FIGURES } from "@/features/completions/model/place";
import { rowKey } from "@/features/completions/model/rows";
import { CompletionCard } from "@/features/completions/ui/completion-card";
import { CompletionList, Pending } from "@/features/completions/ui/completion-list";
import type { CompletionsTabProps } from "@/features/completions/ui/completions-tab";
import { FilterBar, Nothing } from "@/features/completions/ui/filter-bar";
import { usePlace } from "@/features/completions/ui/use-place";

/** The completions of all steps. The server filters, sorts and counts them. */
export function SearchView({ jobId, seed, stage, evaluated }: CompletionsTabProps) {
  const chooser = usePlace();
  const { place } = chooser;
  const query = useInfiniteQuery({ ...searchQuery({ jobId, seed, stage }, place), placeholderData: keepPreviousData });
  const first = query.data?.pages[0];
  if (!query.data || !first) return <Pending query={query} />;
  const rows = query.data.pages
    .flatMap((page) => page.data)
    .map((sample) => ({ sample, stage, step: sample.step, index: sample.index }));
  return (
    <>
      <FilterBar
        chooser={chooser}
        figures={FIGURES}
        histogram={first.histogram}
        shown={first.total}
        total={null}
        hasHeldOut={evaluated.length > 0}
        acrossSteps
        busy={query.isPlaceholderData}
      />
      {rows.length ? (
        <CompletionList
          rows={rows}
          keyOf={rowKey}
          render={(row) => (
            <CompletionCard jobId={jobId} seed={seed} row={row} tables={[]} chooser={chooser} acrossSteps />
          )}
        />
      ) : (
        <Nothing chooser={chooser} />
      )}
      {query.hasNextPage && (
        <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
          {query.isFetchingNextPage ? "Loading…" : `Show more of ${first.total.toLocaleString("en-US")}`}
        </Button>
      )}
    </>
  );
}
