import type { JobSummary } from "@/lib/api/types";

export interface Failure {
  readonly name: string;
  readonly reason: string;
}

interface Outcome {
  readonly done: readonly string[];
  readonly failed: readonly Failure[];
}

/** Asks for each job after the other. A refusal does not stop the rest. */
export async function forEach(
  jobs: readonly Pick<JobSummary, "id" | "name">[],
  request: (id: string) => Promise<unknown>,
): Promise<Outcome> {
  const done: string[] = [];
  const failed: Failure[] = [];
  for (const { id, name } of jobs) {
    try {
      await request(id);
      done.push(id);
    } catch (error) {
      failed.push({ name: name || id, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return { done, failed };
}
