import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ErrorNotice, Notice, StaleBanner } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { RowLink, Table } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { groupsQuery } from "@/features/groups/api";
import { paths } from "@/lib/address";
import { useLabels } from "@/lib/labels";
import { useReadOnly } from "@/lib/read-only";

const POLL_MS = 20_000;

/** The groups of jobs: sweeps, and those made by hand. */
export function GroupsPage() {
  const labelOf = useLabels();
  const readOnly = useReadOnly();
  const query = useInfiniteQuery({ ...groupsQuery, refetchInterval: POLL_MS });
  const groups = query.data?.pages.flatMap((page) => page.data);
  return (
    <>
      <PageHeader title="Groups" wide parent={{ to: paths.jobs, label: "Jobs" }} />
      {query.isError && groups && <StaleBanner since={query.dataUpdatedAt} />}
      {query.isPending && <Skeleton rows={4} height="2.5rem" label="Loading groups" />}
      {query.isError && !groups && (
        <ErrorNotice error={query.error} doing="load the groups" onRetry={() => void query.refetch()} />
      )}
      {groups?.length === 0 && (
        <Notice title="No groups yet">
          <p>A sweep runs one job for each combination of values, and its jobs form a group.</p>
          {!readOnly && (
            <Link className={buttonClass("primary")} to={paths.newJob()}>
              Start a sweep
            </Link>
          )}
        </Notice>
      )}
      {groups && groups.length > 0 && (
        <Table label="Groups" head={["Group", "Kind", "Objective", "Created"]}>
          {groups.map((group) => (
            <tr key={group.id}>
              <th scope="row">
                <RowLink to={paths.group(group.id)}>{group.name || group.id}</RowLink>
              </th>
              <td>{group.sweep ? "sweep" : "by hand"}</td>
              <td title={group.metric}>{labelOf("ppo", group.metric)}</td>
              <td>
                <TimeAgo time={group.created_at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {query.hasNextPage && (
        <p style={{ padding: "1rem 0" }}>
          <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
            Show older groups
          </Button>
        </p>
      )}
    </>
  );
}
