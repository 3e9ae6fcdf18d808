import { useCallback } from "react";
import { useSearchParams } from "react-router";

/** Where the form of a new job starts. */
interface NewJob {
  /** A job whose spec is copied. */
  clone?: string;
  /** A job that the new one continues, from its checkpoint `checkpoint`. */
  branch?: string;
  checkpoint?: string;
  /** A template whose fields are copied. */
  template?: string;
  /** A documented recipe whose fields are copied. */
  recipe?: string;
  /** A dataset that is trained on. */
  dataset?: string;
  /** A group that the job joins. */
  group?: string;
  /** Changes as a JSON object of values by path, such as `{"ppo.kl.coef": 0.1}`. */
  set?: string;
}

/** Addresses of the pages. */
export const paths = {
  jobs: "/",
  job: (id: string): string => `/jobs/${id}`,
  /** The page of a job with its findings open. */
  jobHealth: (id: string): string => `/jobs/${id}?health=open`,
  /** The form of a new job, filled in from `of`. */
  newJob: (of: NewJob = {}): string => {
    const query = new URLSearchParams(Object.entries(of).filter(([, value]) => value !== undefined)).toString();
    return `/jobs/new${query && `?${query}`}`;
  },
  groups: "/groups",
  findings: "/findings",
  templates: "/templates",
  group: (id: string): string => `/groups/${id}`,
  datasets: "/datasets",
  newDataset: "/datasets/new",
  /** Where an upload is looked at before it becomes a dataset. */
  upload: (id: string): string => `/datasets/new?upload=${id}`,
  dataset: (id: string): string => `/datasets/${id}`,
  datasetVersion: (id: string, version: number): string => `/datasets/${id}?version=${version}`,
  rounds: "/annotate",
  /** Filled in from a dataset ("ds_…", or a version of it, "ds_…@2") or from a job. */
  newRound: (of: { dataset?: string; job?: string } = {}): string => {
    const query = new URLSearchParams(of).toString();
    return `/annotate/new${query && `?${query}`}`;
  },
  round: (id: string): string => `/annotate/${id}`,
  queue: (id: string): string => `/annotate/${id}/queue`,
  compare: (ids: readonly string[] = []): string => (ids.length ? `/compare?runs=${ids.join(",")}` : "/compare"),
  workers: "/workers",
  settings: (tab?: "keys" | "usage" | "notifications"): string => (tab ? `/settings?tab=${tab}` : "/settings"),
  docs: "/docs",
};

/** The ids of the runs that an address of the compare page names, each once. */
export const comparedRuns = (params: URLSearchParams): string[] => [
  ...new Set((params.get("runs") ?? "").split(",").filter(Boolean)),
];

type Change = (before: URLSearchParams) => URLSearchParams;

/**
 * The parameters in the address, and a way to change them. A change starts from the address as it is now: pages are
 * rendered after it, and of two changes between two renderings the second would take the first back.
 * With `push` the browser's back button undoes the change.
 */
export function useAddress(): [URLSearchParams, (change: Change, push?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (to: Change, push = false) => setParams(to(new URLSearchParams(window.location.search)), { replace: !push }),
    [setParams],
  );
  return [params, change];
}

/** One parameter of the address. Null removes it. */
export function useParameter(name: string): [string | null, (value: string | null) => void] {
  const [params, change] = useAddress();
  const set = (value: string | null) =>
    change((before) => {
      if (value === null) before.delete(name);
      else before.set(name, value);
      return before;
    });
  return [params.get(name), set];
}
