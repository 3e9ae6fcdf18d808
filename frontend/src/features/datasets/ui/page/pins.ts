/** The jobs that a refusal names. */
export function pinsOf(problem: Readonly<Record<string, unknown>>): string[] {
  return Array.isArray(problem.jobs) ? problem.jobs.filter((id): id is string => typeof id === "string") : [];
}
