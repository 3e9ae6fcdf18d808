import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Suspense, useMemo } from "react";
import { Link, useParams } from "react-router";
import { buttonClass } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { loadable } from "@/components/loadable";
import { Notice, PageError, StaleBanner } from "@/components/notice";
import { Fact, Facts, PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { cancelGroup, type Group, groupQuery, groupsKey, type Objective } from "@/features/groups/api";
import { openCount, parametersOf } from "@/features/groups/model/parameters";
import { GroupTable } from "@/features/groups/ui/group-table";
import { paths, useAddress } from "@/lib/address";
import type { MetricInfo } from "@/lib/api/types";
import { count } from "@/lib/format";
import { type LabelOf, metricReferenceQuery, useLabels } from "@/lib/labels";
import { labelOfAny, metricOptions } from "@/lib/metric-options";
import { useReadOnly } from "@/lib/read-only";
import styles from "./groups.module.css";

const SweepPlots = loadable(async () => (await import("@/features/groups/ui/sweep-plots")).SweepPlots);
const ComparedBy = loadable(async () => (await import("@/components/compared-by")).ComparedBy);

const POLL_MS = 5000;

/** One group: its jobs with their parameters and objective, best first. */
export function GroupPage() {
  const { groupId = "" } = useParams();
  const [objective, setObjective] = useObjective();
  const query = useQuery({
    ...groupQuery(groupId, objective),
    placeholderData: (before) => (before?.id === groupId ? before : undefined),
    refetchInterval: ({ state }) => (state.data && !openCount(state.data.statuses) ? false : POLL_MS),
  });
  const labelOf = useLabels();
  const readOnly = useReadOnly();
  const { data: reference = [] } = useQuery(metricReferenceQuery);
  const group = query.data;
  const parameters = parametersOf(group?.jobs ?? []).join("\n");
  const fields = useMemo(() => parameters.split("\n").filter(Boolean), [parameters]);
  const parent = { to: paths.groups, label: "Groups" };
  if (!group && query.isError) {
    const retry = () => void query.refetch();
    return <PageError subject="Group" parent={parent} error={query.error} doing="load the group" onRetry={retry} />;
  }
  if (!group) return <Skeleton rows={5} height="2.5rem" label="Loading the group" />;
  return (
    <>
      <PageHeader
        title={group.name || group.id}
        wide
        parent={parent}
        actions={
          <>
            {group.jobs.length > 1 && (
              <Link className={buttonClass()} to={paths.compare(group.jobs.map((job) => job.id))}>
                Compare all
              </Link>
            )}
            {!readOnly && !group.sweep && group.jobs.length > 0 && (
              <Link className={buttonClass()} to={paths.newJob({ group: group.id })}>
                Add a job
              </Link>
            )}
            {!readOnly && <CancelAll group={group} />}
          </>
        }
      >
        <Facts as="dl">
          <Fact name="Jobs">
            {Object.entries(group.statuses)
              .map(([status, jobs]) => `${jobs} ${status}`)
              .join(", ") || "none"}
          </Fact>
          {group.max_parallel !== null && <Fact name="At once">at most {count(group.max_parallel, "job")}</Fact>}
          <Fact name="Created">
            <TimeAgo time={group.created_at} />
          </Fact>
        </Facts>
      </PageHeader>
      {query.isError && <StaleBanner since={query.dataUpdatedAt} />}
      {group.jobs.length ? (
        <Compared group={group} fields={fields} onObjective={setObjective} reference={reference} labelOf={labelOf} />
      ) : (
        <NoJobs group={group} />
      )}
    </>
  );
}

/** The metric and goal in the address, which decide in place of the group's. */
function useObjective(): [Objective, (to: Partial<Objective>) => void] {
  const [params, change] = useAddress();
  const goal = params.get("goal");
  const objective: Objective = {
    metric: params.get("metric"),
    goal: goal === "maximize" || goal === "minimize" ? goal : null,
  };
  const set = (to: Partial<Objective>) =>
    change((before) => {
      for (const [name, value] of Object.entries(to)) if (value) before.set(name, value);
      return before;
    });
  return [objective, set];
}

interface ComparedProps {
  group: Group;
  fields: readonly string[];
  onObjective: (to: Partial<Objective>) => void;
  reference: readonly Pick<MetricInfo, "stage" | "name" | "label">[];
  labelOf: LabelOf;
}

/** The jobs by the metric that decides, as plots and as a table. */
function Compared({ group, fields, onObjective, reference, labelOf }: ComparedProps) {
  const label = labelOfAny(reference, labelOf, group.metric);
  const options = useMemo(
    () => metricOptions(reference, labelOf, [...group.metrics, group.metric]),
    [reference, labelOf, group.metrics, group.metric],
  );
  return (
    <>
      <div className={styles.by}>
        <span>Compared by</span>
        <Suspense fallback={<Skeleton rows={1} height="2.25rem" label="Loading the metrics" />}>
          <ComparedBy
            className={styles.picker}
            options={options}
            metric={group.metric}
            goal={group.goal}
            onChange={onObjective}
          />
        </Suspense>
      </div>
      {group.jobs.length > 1 && fields.length > 0 && (
        <Suspense fallback={<Skeleton rows={1} height="26rem" label="Loading the plots" />}>
          <SweepPlots group={group} parameters={fields} label={label} />
        </Suspense>
      )}
      {group.jobs.length > 1 && fields.length === 0 && (
        <p className={styles.note}>
          These jobs were added by hand, so no field is known to vary. “Compare all” shows the fields in which they
          differ.
        </p>
      )}
      <GroupTable group={group} parameters={fields} label={label} />
    </>
  );
}

function NoJobs({ group }: { group: Group }) {
  const readOnly = useReadOnly();
  return (
    <Notice title="No jobs in this group">
      <p>
        {group.sweep ? "The jobs of the sweep were deleted. " : ""}A job joins the group when it is submitted, here or
        with <code>proximal jobs submit --group {group.id}</code>.
      </p>
      {!readOnly && (
        <Link className={buttonClass("primary")} to={paths.newJob({ group: group.id })}>
          New job in this group
        </Link>
      )}
    </Notice>
  );
}

function CancelAll({ group }: { group: Group }) {
  const client = useQueryClient();
  const open = openCount(group.statuses);
  if (!open) return null;
  return (
    <ConfirmButton
      button="Cancel all"
      title={`Cancel ${count(open, "job")}?`}
      confirm="Cancel the jobs"
      keep="Keep the jobs"
      action={async () => {
        await cancelGroup(group.id);
        await client.invalidateQueries({ queryKey: [...groupsKey, group.id] });
      }}
      done="The jobs of the group stop."
    >
      <p>Jobs that run stop after their present step. Finished jobs stay as they are.</p>
    </ConfirmButton>
  );
}
