import { ApiError, toProblem } from "@/api/problem";
import type { Dataset, DatasetKind } from "@/api/types";

export interface Upload {
  file: File;
  kind: DatasetKind;
  name: string;
}

/** Uploads with XMLHttpRequest, which, unlike fetch, tells how much has been sent. `onSent` gets 0 to 1. */
export function uploadDataset(upload: Upload, onSent: (fraction: number) => void): Promise<Dataset> {
  const body = new FormData();
  body.set("kind", upload.kind);
  if (upload.name) body.set("name", upload.name);
  body.set("file", upload.file);
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open("POST", "/v1/datasets");
    xhr.upload.onprogress = (event) => onSent(event.lengthComputable ? event.loaded / event.total : 0);
    xhr.onload = () => {
      const answer = parse(xhr.responseText);
      if (xhr.status === 201) resolve(answer as Dataset);
      else reject(new ApiError(xhr.status, toProblem(answer)));
    };
    xhr.onerror = () => reject(new ApiError(0, {}));
    xhr.send(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
