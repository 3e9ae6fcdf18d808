interface Made {
  readonly id: string;
  readonly status: string;
}

/** The report that the address names; else the newest that is done; else the newest. `reports` are newest first. */
export function chosenReport<R extends Made>(reports: readonly R[], named: string | null): R | null {
  const newest = reports.find((one) => one.status === "done") ?? reports[0] ?? null;
  return reports.find((one) => one.id === named) ?? newest;
}
