import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link, useParams } from "react-router";
import { buttonClass } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { columnsOf, DataTable } from "@/components/data-table";
import { Notice, PageError, StaleBanner } from "@/components/notice";
import { Fact, Facts, PageHeader } from "@/components/page-header";
import { Skeleton, StatusBadge } from "@/components/status";
import { RowLink } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { cancelGroup, type Group, type GroupJob, groupQuery } from "@/features/groups/api";
import { openCount, parametersOf, sortValue, valueText } from "@/features/groups/model/parameters";
import { paths, useParameter } from "@/lib/address";
import { count, measured } from "@/lib/format";
import { useLabels } from "@/lib/labels";
import { sweepName } from "@/lib/names";
import { spreadText } from "@/lib/seeds";

const POLL_MS = 5000;

/** One group: its jobs with their parameters and objective, best first. */
export function GroupPage() {
  const { groupId = "" } = useParams();
  const query = useQuery({
    ...groupQuery(groupId),
    refetchInterval: ({ state }) => (state.data && !openCount(state.data.statuses) ? false : POLL_MS),
  });
  const labelOf = useLabels();
  const group = query.data;
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
            {!group.sweep && group.jobs.length > 0 && (
              <Link className={buttonClass()} to={paths.newJob({ group: group.id })}>
                Add a job
              </Link>
            )}
            <CancelAll group={group} />
          </>
        }
      >
        <Facts as="dl">
          <Fact name="Jobs">
            {Object.entries(group.statuses)
              .map(([status, jobs]) => `${jobs} ${status}`)
              .join(", ") || "none"}
          </Fact>
          <Fact name="Objective">
            <span title={group.metric}>{labelOf("ppo", group.metric)}</span>
          </Fact>
          {group.max_parallel !== null && <Fact name="At once">at most {count(group.max_parallel, "job")}</Fact>}
          <Fact name="Created">
            <TimeAgo time={group.created_at} />
          </Fact>
        </Facts>
      </PageHeader>
      {query.isError && <StaleBanner since={query.dataUpdatedAt} />}
      {group.jobs.length ? <GroupTable group={group} /> : <NoJobs group={group} />}
    </>
  );
}

function NoJobs({ group }: { group: Group }) {
  return (
    <Notice title="No jobs in this group">
      <p>
        {group.sweep ? "The jobs of the sweep were deleted. " : ""}A job joins the group when it is submitted, here or
        with <code>proximal jobs submit --group {group.id}</code>.
      </p>
      <Link className={buttonClass("primary")} to={paths.newJob({ group: group.id })}>
        New job in this group
      </Link>
    </Notice>
  );
}

function GroupTable({ group }: { group: Group }) {
  const [sort, setSort] = useParameter("sort");
  const label = useLabels()("ppo", group.metric);
  const parameters = parametersOf(group.jobs).join("\n");
  const columns = useMemo(
    () => columnsFor(group.metric, label, parameters.split("\n")),
    [group.metric, label, parameters],
  );
  return (
    <DataTable
      label="Jobs of the group"
      rows={group.jobs}
      rowId={(job) => job.id}
      columns={columns}
      sort={sort}
      onSort={setSort}
    />
  );
}

/** `label`: that of the objective. */
function columnsFor(metric: string, label: string, parameters: readonly string[]) {
  const of = columnsOf<GroupJob>();
  return of.columns([
    of.accessor(({ name, number }) => name || `Run ${number}`, {
      id: "name",
      header: "Job",
      cell: ({ getValue, row: { original: job } }) => (
        <RowLink to={paths.job(job.id)}>
          <span title={job.name}>{sweepName({ name: getValue() }, job.values).name}</span>
        </RowLink>
      ),
      meta: { isRowHead: true },
    }),
    of.accessor((job) => job.objective ?? undefined, {
      id: "objective",
      header: label,
      cell: ({ getValue, row: { original: job } }) => objectiveText(getValue(), job),
      meta: { label, title: metric },
    }),
    ...parameters.filter(Boolean).map((path) =>
      of.accessor(({ values }) => sortValue(values[path]), {
        id: path,
        header: path,
        cell: ({ row }) => valueText(row.original.values[path]),
        meta: { label: path },
      }),
    ),
    of.accessor("status", {
      header: "Status",
      cell: ({ getValue }) => <StatusBadge status={getValue()} />,
    }),
  ]);
}

/** The objective; of several seeds the mean, with its interval once the job has finished. */
function objectiveText(
  value: number | undefined,
  { objective_low: low, objective_high: high, seeds }: GroupJob,
): string {
  if (value === undefined || seeds === 1) return measured(value);
  return low === null
    ? `${measured(value)} (${count(seeds, "seed")})`
    : spreadText({ mean: value, low, high }, seeds, measured);
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
      action={async () => client.setQueryData(groupQuery(group.id).queryKey, await cancelGroup(group.id))}
      done="The jobs of the group stop."
    >
      <p>Jobs that run stop after their present step. Finished jobs stay as they are.</p>
    </ConfirmButton>
  );
}
