/** Shapes of the dataset routes. Goes as soon as the schema has them. */

export type Severity = "blocking" | "warning" | "info";

export interface Sample {
  line: number;
  row: number | null;
  text: string;
}

export interface Finding {
  code: string;
  severity: Severity;
  title: string;
  detail: string;
  count: number;
  share: number | null;
  lines: number[];
  samples: Sample[];
  fix: { id: string; label: string } | null;
}

export interface TaskProgress {
  fraction: number;
  note: string;
}

export interface DatasetVersion {
  id: string;
  dataset_id: string;
  number: number;
  parent: number | null;
  status: "importing" | "ready" | "blocked" | "failed";
  rows: number | null;
  bytes: number | null;
  sha256: string | null;
  left_out: number;
  findings: Finding[];
  origin: Record<string, unknown>;
  error: { code: string; message: string; errors?: unknown[] } | null;
  created_at: string;
  ready_at: string | null;
  jobs: string[];
}

export interface Mapping {
  fields: Record<string, string>;
  labels?: Record<string, string>;
}

export interface Candidate {
  format: string;
  title: string;
  kind: "preferences" | "prompts" | "sft" | "pretraining";
  score: number;
  why: string;
}

export interface PreviewRow {
  line: number;
  raw: string;
  row: Record<string, unknown> | null;
  problem: string | null;
}

export interface Preview {
  container: string;
  compression: string;
  encoding: string;
  notes: string[];
  /** How many records were looked at. */
  records: number;
  /** A guess for a mapping by hand, from the columns' names. */
  suggested: Mapping | null;
  /** The first records that could not be read at all. */
  problems: { line: number; detail: string }[];
  sure: boolean;
  columns: { name: string; type: string; examples: string[] }[];
  candidates: Candidate[];
  plan: { format: string; kind: Candidate["kind"]; mapping: Mapping | null } | null;
  rows: PreviewRow[];
}

export interface Histogram {
  name: string;
  title: string;
  unit: string;
  edges: number[];
  counts: number[];
  limit: number | null;
  mean: number;
  median: number;
  p95: number;
  max: number;
}

export interface ReportResult {
  summary: Record<string, number>;
  findings: Finding[];
  histograms: Histogram[];
  languages: { language: string; rows: number; share: number }[];
  length_bias: {
    unit: string;
    pairs: number;
    longer_wins: number;
    low: number;
    high: number;
    mean_difference: number;
    length_only_accuracy: number;
    accuracy_low: number;
    accuracy_high: number;
    rule: string;
  } | null;
  position: {
    pairs: number;
    a: number;
    b: number;
    tie: number;
    a_of_decided: number;
    low: number;
    high: number;
  } | null;
  agreement: {
    alpha: number | null;
    items: number;
    annotators: { annotator: string; rows: number; compared: number; agreement: number | null }[];
  } | null;
  splits: { eval_fraction: number; train: number; eval: number; shared_prompts: number } | null;
}

export interface Report {
  id: string;
  dataset_id: string;
  version: number;
  status: "queued" | "running" | "done" | "failed" | "cancelled";
  progress: TaskProgress | null;
  settings: Record<string, unknown>;
  result: ReportResult | null;
  error: { code: string; message: string } | null;
  created_at: string;
}
