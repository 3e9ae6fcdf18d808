/** The only place that knows the addresses of the pages. */
export const paths = {
  jobs: "/",
  job: (id: string): string => `/jobs/${id}`,
  datasets: "/datasets",
  dataset: (id: string): string => `/datasets/${id}`,
  docs: "/docs",
};
