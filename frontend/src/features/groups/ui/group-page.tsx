import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { buttonClass } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { Notice, PageError, StaleBanner } from "@/components/notice";
import { Fact, Facts, PageHeader } from "@/components/page-header";
import { Skeleton, StatusBadge } from "@/components/status";
import { RowLink, Table } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { cancelGroup, type Group, groupQuery } from "@/features/groups/api";
import { openCount, parametersOf, valueText } from "@/features/groups/model/parameters";
import { paths } from "@/lib/address";
import { count, measured } from "@/lib/format";

const POLL_MS = 5000;

/** One group: its jobs with their parameters and objective, best first. */
export function GroupPage() {
  const { groupId = "" } = useParams();
  const query = useQuery({
    ...groupQuery(groupId),
    refetchInterval: ({ state }) => (state.data && !openCount(state.data.statuses) ? false : POLL_MS),
  });
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
            <code>{group.metric}</code>
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
  const parameters = parametersOf(group.jobs);
  return (
    <Table label="Jobs of the group" head={["Job", group.metric, ...parameters, "Status"]}>
      {group.jobs.map((job) => (
        <tr key={job.id}>
          <th scope="row">
            <RowLink to={paths.job(job.id)}>{job.name || `Run ${job.number}`}</RowLink>
          </th>
          <td data-label={group.metric}>{measured(job.objective)}</td>
          {parameters.map((name) => (
            <td key={name} data-label={name}>
              {valueText(job.values[name])}
            </td>
          ))}
          <td>
            <StatusBadge status={job.status} />
          </td>
        </tr>
      ))}
    </Table>
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
      action={async () => client.setQueryData(groupQuery(group.id).queryKey, await cancelGroup(group.id))}
      done="The jobs of the group stop."
    >
      <p>Jobs that run stop after their present step. Finished jobs stay as they are.</p>
    </ConfirmButton>
  );
}
