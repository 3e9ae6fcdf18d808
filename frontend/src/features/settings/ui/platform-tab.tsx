import { useQuery } from "@tanstack/react-query";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { usageLines } from "@/features/settings/model";
import {
  type PlatformJob,
  platformJobsQuery,
  type PlatformProject,
  platformProjectsQuery,
} from "@/features/settings/api";
import { visible } from "@/lib/visible";
import styles from "./settings.module.css";

/** All projects with their use, and the unfinished jobs of all projects. For operators. */
export function PlatformTab() {
  const projects = useQuery(platformProjectsQuery);
  const jobs = useQuery(platformJobsQuery);
  if (projects.isPending || jobs.isPending) return <Skeleton rows={4} height="2.75rem" label="Loading projects" />;
  if (projects.isError) {
    return <ErrorNotice error={projects.error} doing="load the projects" onRetry={() => void projects.refetch()} />;
  }
  if (jobs.isError) {
    return <ErrorNotice error={jobs.error} doing="load the jobs" onRetry={() => void jobs.refetch()} />;
  }
  return (
    <div className={styles.stack}>
      <p className={styles.note}>
        Projects share the workers by their use. Limits are set with <code>proximal admin set-quotas</code>. You see
        what projects use, and not what their jobs and datasets hold.
      </p>
      <Table label="Projects" head={["Project", "Members", ...HEADS]}>
        {projects.data.map((project) => (
          <ProjectRow key={project.id} item={project} />
        ))}
      </Table>
      <h2>Unfinished jobs</h2>
      {jobs.data.data.length === 0 ? (
        <p className={styles.note}>No project has an unfinished job.</p>
      ) : (
        <Table label="Unfinished jobs" head={["Job", "Project", "State", "Submitted", "Worker"]}>
          {jobs.data.data.map((job) => (
            <JobRow key={job.id} item={job} />
          ))}
        </Table>
      )}
      {jobs.data.has_more && (
        <p className={styles.note}>
          These are the newest {jobs.data.data.length}. <code>proximal admin jobs</code> lists all.
        </p>
      )}
    </div>
  );
}

const HEADS = ["Unfinished jobs", "Running jobs", "GPUs", "GPU-hours", "Stored"];

function ProjectRow({ item }: { item: PlatformProject }) {
  return (
    <tr>
      <th scope="row">
        {visible(item.name)}
        <small className={styles.maker}>{item.id}</small>
        {item.own_limits.length > 0 && <small className={styles.maker}>limits of its own</small>}
      </th>
      <td data-label="Members">{item.members}</td>
      {usageLines(item.usage).map(({ name, text, fraction }, index) => (
        <td key={name} data-label={HEADS[index]}>
          {fraction !== null && fraction >= 1 ? <b className={styles.problem}>{text}</b> : text}
        </td>
      ))}
    </tr>
  );
}

function JobRow({ item }: { item: PlatformJob }) {
  return (
    <tr>
      <th scope="row">
        <code>{item.id}</code>
      </th>
      <td data-label="Project">{visible(item.project.name)}</td>
      <td data-label="State">{item.status}</td>
      <td data-label="Submitted">
        <TimeAgo time={item.created_at} />
      </td>
      <td data-label="Worker">{item.worker_id ?? "none"}</td>
    </tr>
  );
}
