import { queryClient, answer, api } from "@/lib/api/client";
import { datasetsKey } from "@/features/datasets/api/datasets";
import { importUpload, uploadsKey } from "@/features/datasets/api/imports";
import { patiently } from "@/features/datasets/api/patience";
import { startUpload } from "@/features/datasets/api/upload";
import type { DatasetKind } from "@/lib/api/types";
import { percent } from "@/lib/format";

const POLL_MS = 500;

interface DatasetWanted {
  readonly name: string;
  readonly kind: DatasetKind;
  /** Called with the state in words, such as "12 % sent". */
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Uploads a file and imports it. Returns the dataset's id once its rows are ready. Rejects with the reason if they are not. */
export async function uploadDataset(file: File, { name, kind, onProgress, signal }: DatasetWanted): Promise<string> {
  const upload = await startUpload(file, {
    onProgress: ({ sent, total }) => onProgress(`${percent(total ? sent / total : 1)} sent`),
    signal,
  });
  const reading = { format: null, kind, mapping: null, encoding: null, ignore: [] };
  const { id } = await importUpload({ ...reading, upload: upload.id, name, bad_rows: "refuse" });
  await Promise.all([datasetsKey, uploadsKey].map((queryKey) => queryClient.invalidateQueries({ queryKey })));
  await imported(id, onProgress, signal);
  await queryClient.invalidateQueries({ queryKey: datasetsKey });
  return id;
}

/** Waits until a dataset is ready. Rejects if its import fails, or is blocked by findings. */
export async function imported(id: string, onProgress: (text: string) => void, signal: AbortSignal): Promise<void> {
  const read = () => answer(api.GET("/v1/datasets/{dataset_id}", { params: { path: { dataset_id: id } }, signal }));
  for (;;) {
    const { status, error, progress } = await patiently(read, signal);
    if (status === "ready") return;
    if (status !== "importing") throw new Error(error?.message ?? "Findings block the dataset. Open it to decide.");
    onProgress(`${percent(progress?.fraction ?? 0)} imported`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
