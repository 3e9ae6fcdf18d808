import { queryOptions } from "@tanstack/react-query";
import { imported, uploadDataset } from "@/features/datasets/api/upload-dataset";
import { allPages, answer, api, MOST } from "@/lib/api/client";
import type { JobSpec } from "@/lib/api/types";

/** The roles of the sample datasets. Each is also the dataset's kind. */
const ROLES = ["preferences", "sft", "prompts"] as const;
type Role = (typeof ROLES)[number];
const FOLDER = "/samples";
/** The names that `proximal demo` uses, so that the command and the page find each other's datasets and job. */
const named = (what: string): string => `${what}, seed 0`;

/** The spec of the demo; null where the dashboard was built without sample data. */
export const demoQuery = queryOptions({
  queryKey: ["samples"],
  queryFn: async () => {
    const response = await fetch(`${FOLDER}/demo.toml`);
    const text = response.ok ? await response.text() : "";
    // The development server sends the page in place of a missing file.
    if (!text || text.startsWith("<")) return null;
    const { parse } = await import("smol-toml");
    return parse(text);
  },
  staleTime: Infinity,
});

export type Demo = NonNullable<Awaited<ReturnType<NonNullable<typeof demoQuery.queryFn>>>>;

type OnProgress = (text: string) => void;

/** Ids of the sample datasets by role, once all are ready. Those that the owner has already are not uploaded again. */
export async function loadSamples(onProgress: OnProgress): Promise<Record<Role, string>> {
  const ids: [Role, string][] = [];
  for (const role of ROLES) ids.push([role, await loadSample(role, (text) => onProgress(`${role}: ${text}`))]);
  return Object.fromEntries(ids) as Record<Role, string>;
}

async function loadSample(role: Role, onProgress: OnProgress): Promise<string> {
  const { signal } = new AbortController(); // it goes on when the page is left
  const name = named(`Demo: ${role}`);
  const known = await allPages((after) =>
    answer(api.GET("/v1/datasets", { params: { query: { kind: role, search: name, limit: MOST, after } } })),
  );
  const found = known.find((one) => one.name === name && one.status !== "failed");
  if (found) {
    await imported(found.id, onProgress, signal);
    return found.id;
  }
  const response = await fetch(`${FOLDER}/${role}.jsonl.gz`);
  if (!response.ok) throw new Error(`The server has no sample file for ${role}.`);
  const file = new File([await response.blob()], `${role}.jsonl.gz`, { lastModified: 0 });
  return uploadDataset(file, { name, kind: role, onProgress, signal });
}

/** Submits the job of the demo on the sample datasets and returns its id. An unfinished one is returned instead. */
export async function runDemo(demo: Demo, onProgress: OnProgress): Promise<string> {
  const name = named(demo.name as string);
  const query = { status: ["queued", "starting", "running"] as const, text: name, limit: MOST };
  const { data } = await answer(api.GET("/v1/jobs", { params: { query: { ...query, status: [...query.status] } } }));
  const running = data.find((job) => job.name === name);
  if (running) return running.id;
  const ids = await loadSamples(onProgress);
  onProgress("the job is submitted");
  const spec = { ...demo, name, seed: 0, data: { ...(demo.data as object), ...ids } };
  return (await answer(api.POST("/v1/jobs", { body: spec as unknown as JobSpec }))).id;
}
