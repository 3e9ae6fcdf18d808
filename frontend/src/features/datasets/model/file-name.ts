const ENDING = /\.(gz|zst|zstd|jsonl|ndjson|json|csv|tsv|parquet|txt)$/i;

/** A file's name without folders and without the extensions of its format. */
export function baseName(filename: string): string {
  let name = filename.split(/[\\/]/).at(-1) ?? filename;
  while (ENDING.test(name)) name = name.replace(ENDING, "");
  return name || filename;
}
