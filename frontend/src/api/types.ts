import type { components } from "@/api/schema.gen";

type Schemas = components["schemas"];

export type Checkpoint = Schemas["Checkpoint"];
export type Dataset = Schemas["Dataset"];
export type DatasetKind = Schemas["DatasetKind"];
export type DatasetRow = Schemas["DatasetRow"];
export type DatasetVersion = Schemas["DatasetVersion"];
export type Finding = Schemas["Finding"];
export type FindingSample = Schemas["FindingSample"];
export type Histogram = Schemas["Histogram"];
export type Job = Schemas["Job"];
export type JobEvent = Schemas["JobEvent"];
export type JobSummary = Schemas["JobSummary"];
export type MetricInfo = Schemas["MetricInfo"];
export type Problem = Schemas["Problem"];
export type ProblemItem = Schemas["ProblemItem"];
export type Report = Schemas["Report"];
export type ReportResult = Schemas["ReportResult"];
export type UploadPreview = Schemas["UploadPreview"];
