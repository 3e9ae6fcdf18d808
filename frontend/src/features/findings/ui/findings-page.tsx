import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Button } from "@/components/button";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { findingsQuery, healthRulesQuery } from "@/features/findings/api";
import {
  asState,
  type Choice,
  filterOf,
  isFiltered,
  MESSAGES,
  readChoice,
  SEVERITIES,
  UNFILTERED,
  writeChoice,
} from "@/features/findings/model/choice";
import { FindingTable } from "@/features/findings/ui/finding-table";
import { useAddress } from "@/lib/address";
import { jobName } from "@/lib/names";
import styles from "./findings-page.module.css";

const POLL_MS = 10_000;

/** The health rules that fired in any run, and the warnings of the runs. */
export function FindingsPage() {
  const [params, setParams] = useAddress();
  const choice = readChoice(params);
  const change = (to: Partial<Choice>) => setParams((before) => writeChoice({ ...readChoice(before), ...to }));
  const query = useInfiniteQuery({
    ...findingsQuery(filterOf(choice)),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  });
  const found = query.data?.pages.flatMap((page) => page.data);
  const ofJob = found?.find(({ job_id }) => job_id === choice.job);
  return (
    <div data-wide>
      <PageHeader title="Findings" />
      {query.isError && found && <StaleBanner since={query.dataUpdatedAt} />}
      <Filters choice={choice} jobName={ofJob ? jobName({ name: ofJob.job_name }) : choice.job} onChange={change} />
      {query.isPending && <Skeleton rows={5} height="3.25rem" label="Loading findings" />}
      {query.isError && !found && (
        <ErrorNotice error={query.error} doing="load the findings" onRetry={() => void query.refetch()} />
      )}
      {found?.length === 0 && (isFiltered(choice) ? <NoneMatch onClear={() => change(UNFILTERED)} /> : <None />)}
      {found && found.length > 0 && <FindingTable findings={found} onJob={(job) => change({ job })} />}
      {query.hasNextPage && (
        <p className={styles.more}>
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            Show older findings
          </Button>
        </p>
      )}
    </div>
  );
}

function None() {
  return (
    <Notice title="No findings">
      <p>
        Health rules watch the metrics of every PPO run, and a run warns of its data. A finding appears here when a rule
        acts or a run warns.
      </p>
    </Notice>
  );
}

function NoneMatch({ onClear }: { onClear: () => void }) {
  return (
    <Notice title="No finding matches the filters">
      <Button onClick={onClear}>Clear the filters</Button>
    </Notice>
  );
}

interface FiltersProps {
  choice: Choice;
  /** Name of the job whose findings are shown; null for all jobs. */
  jobName: string | null;
  onChange: (change: Partial<Choice>) => void;
}

function Filters({ choice, jobName, onChange }: FiltersProps) {
  const rules = useQuery(healthRulesQuery).data ?? [];
  const { severity, rule, state, archived } = choice;
  const isUnknown = rule !== null && rule !== MESSAGES && !rules.some((one) => one.rule === rule);
  return (
    <div className={styles.filters} role="search" aria-label="Which findings">
      <select
        aria-label="Severity of the findings"
        value={severity ?? ""}
        onChange={({ target }) => onChange({ severity: SEVERITIES.find((one) => one === target.value) ?? null })}
      >
        <option value="">All severities</option>
        <option value="error">Errors</option>
        <option value="warning">Warnings</option>
      </select>
      <select
        aria-label="Kind of the findings"
        value={rule ?? ""}
        onChange={({ target }) => onChange({ rule: target.value || null })}
      >
        <option value="">All kinds</option>
        {isUnknown && <option value={rule}>{rule}</option>}
        {rules.map(({ rule, title }) => (
          <option key={rule} value={rule}>
            {title}
          </option>
        ))}
        <option value={MESSAGES}>Warnings of runs</option>
      </select>
      <select
        aria-label="State of the jobs"
        value={state ?? ""}
        onChange={({ target }) => onChange({ state: asState(target.value) })}
      >
        <option value="">All jobs</option>
        <option value="open">Jobs that go on</option>
        <option value="ended">Ended jobs</option>
      </select>
      <label className={styles.check}>
        <input type="checkbox" checked={archived} onChange={({ target }) => onChange({ archived: target.checked })} />
        Archived
      </label>
      {jobName !== null && (
        <Button
          aria-label={`Show the findings of all jobs, not only of ${jobName}`}
          onClick={() => onChange({ job: null })}
        >
          {jobName} ×
        </Button>
      )}
      {isFiltered(choice) && (
        <Button look="quiet" onClick={() => onChange(UNFILTERED)}>
          Clear the filters
        </Button>
      )}
    </div>
  );
}
