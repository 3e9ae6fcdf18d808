import { useMutation, useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useEffect, useId, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { Button } from "@/components/button";
import { PageHeader } from "@/components/page-header";
import { uploadFromUrl, uploadLimitsQuery } from "@/features/datasets/api/imports";
import { addFiles, transfers, useTransfers } from "@/features/datasets/model/transfers";
import { DropZone, useDropAnywhere } from "@/features/datasets/ui/add/drop-zone";
import { Examples } from "@/features/datasets/ui/add/examples";
import { TransferCard } from "@/features/datasets/ui/add/transfer-card";
import { Unfinished } from "@/features/datasets/ui/add/unfinished";
import { Review } from "@/features/datasets/ui/preview/review";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { paths } from "@/lib/address";
import styles from "./add.module.css";

/** From a file to a dataset: choose it, look at what it was taken for, confirm. The address holds the upload. */
export function AddPage() {
  const [params] = useSearchParams();
  const upload = params.get("upload");
  return upload ? <Review key={upload} id={upload} /> : <Choose />;
}

/** First step: a file, or an address to fetch it from. */
function Choose() {
  const list = useTransfers();
  const over = useDropAnywhere(addFiles);
  const navigate = useNavigate();
  const [only] = list;
  // A single file is opened at once. With several, the user chooses one.
  const arrived = list.length === 1 && only?.state === "done" ? only : null;
  useEffect(() => {
    if (!arrived?.uploadId) return;
    transfers.dismiss(arrived.key);
    void navigate(paths.upload(arrived.uploadId), { replace: true });
  }, [arrived, navigate]);
  return (
    <>
      <PageHeader title="Add data" />
      <div className={styles.choose}>
        <DropZone over={over} onFiles={addFiles} />
        {list.length > 0 && (
          <ul className={styles.transfers} aria-label="Uploads">
            {list.map((transfer) => (
              <TransferCard key={transfer.key} transfer={transfer} />
            ))}
          </ul>
        )}
        <FromUrl />
        <Unfinished />
        <Examples />
      </div>
    </>
  );
}

const ANYWHERE = ["https://…", "s3://bucket/key", "hf://datasets/owner/name"];

/** Fetching by the server itself, where the operator allows it. */
function FromUrl() {
  const limits = useQuery(uploadLimitsQuery);
  const id = useId();
  const navigate = useNavigate();
  const [url, setUrl] = useState("");
  const fetching = useMutation({
    mutationFn: uploadFromUrl,
    onSuccess: (upload) => navigate(paths.upload(upload.id)),
  });
  if (!limits.data) return null;
  const { import_urls: allowed, import_prefixes: prefixes } = limits.data;
  if (allowed === "none") {
    return (
      <p className={styles.hint}>
        Fetching from a URL is switched off here. The operator can allow it with <code>PROXIMAL_IMPORT_URLS</code>.
      </p>
    );
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (url.trim()) fetching.mutate(url.trim());
  };
  return (
    <form className={styles.fromUrl} onSubmit={submit}>
      <label htmlFor={id}>Or have the server fetch it</label>
      <div>
        <input
          id={id}
          type="text"
          inputMode="url"
          spellCheck={false}
          autoCapitalize="off"
          placeholder={(allowed === "some" ? prefixes : ANYWHERE).join("  ")}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <Button type="submit" disabled={!url.trim() || fetching.isPending}>
          {fetching.isPending ? "Asking…" : "Fetch"}
        </Button>
      </div>
      {fetching.error && <ProblemLines error={fetching.error} title="Not fetched" />}
    </form>
  );
}
