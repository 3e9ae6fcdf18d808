import type { components } from "@/api/schema.gen";

type Schemas = components["schemas"];

export type Checkpoint = Schemas["Checkpoint"];
export type Dataset = Schemas["Dataset"];
export type DatasetKind = Schemas["DatasetKind"];
export type DatasetRow = Schemas["DatasetRow"];
export type Job = Schemas["Job"];
export type JobEvent = Schemas["JobEvent"];
export type JobSummary = Schemas["JobSummary"];
export type MetricInfo = Schemas["MetricInfo"];
export type Problem = Schemas["Problem"];
export type ProblemItem = Schemas["ProblemItem"];
