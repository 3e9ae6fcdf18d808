import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { jobQuery } from "@/lib/api/jobs";
import { paths } from "@/lib/address";
import { jobName } from "@/lib/names";

interface JobLinkProps {
  id: string;
  /** Follows the name inside the link. */
  children?: ReactNode;
}

/** A job that is known by its id, as a link with its name. The id shows on hover, and its end until the name is known. */
export function JobLink({ id, children }: JobLinkProps) {
  const job = useQuery({ ...jobQuery(id), retry: false });
  if (job.isError) return <span title={id}>a job that was deleted{children}</span>;
  return (
    <Link to={paths.job(id)} title={id}>
      {job.data ? jobName(job.data) : `…${id.slice(-6)}`}
      {children}
    </Link>
  );
}
