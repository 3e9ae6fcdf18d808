import type { UploadPreview } from "@/lib/api/types";

const CONTAINERS: Record<string, string> = {
  jsonl: "JSON Lines",
  json: "A JSON document",
  csv: "A table as text (CSV)",
  parquet: "Parquet",
};
const COMPRESSIONS: Record<string, string> = { gzip: ", compressed by gzip", zstd: ", compressed by zstd" };
const MOST = 8;

/** What kind of file it is and which columns it has, in a sentence. */
export function containerText({ container, compression, columns }: UploadPreview): string {
  const names = columns.slice(0, MOST).map((column) => column.name);
  const more = columns.length - names.length;
  const listed = names.length ? ` with ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}` : "";
  return `${CONTAINERS[container] ?? container}${COMPRESSIONS[compression] ?? ""}${listed}.`;
}
