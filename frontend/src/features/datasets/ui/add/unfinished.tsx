import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { TimeAgo } from "@/components/text";
import { uploadsKey, uploadsQuery } from "@/features/datasets/api/imports";
import { cancelUpload, type Upload } from "@/features/datasets/api/upload";
import { useTransfers } from "@/features/datasets/model/transfers";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { paths } from "@/lib/address";
import { bytes, percent } from "@/lib/format";
import styles from "./add.module.css";

/** Uploads that another browser or an earlier visit started. */
export function Unfinished() {
  const uploads = useQuery(uploadsQuery);
  const here = new Set(useTransfers().map((one) => one.uploadId));
  const client = useQueryClient();
  const discard = useMutation({
    mutationFn: cancelUpload,
    onSettled: () => client.invalidateQueries({ queryKey: uploadsKey }),
  });
  const left = (uploads.data ?? []).filter((upload) => upload.dataset === null && !here.has(upload.id));
  if (uploads.isLoadingError) return <ProblemLines error={uploads.error} title="Unfinished uploads cannot be listed" />;
  if (!left.length) return null;
  return (
    <section className={styles.unfinished} aria-label="Unfinished uploads">
      <h2>Not a dataset yet</h2>
      <ul>
        {left.map((upload) => (
          <li key={upload.id}>
            <p>
              <b>{upload.filename}</b>
              <small>
                {told(upload)} · <TimeAgo time={upload.created_at} />
              </small>
            </p>
            <div className={styles.buttons}>
              {upload.status !== "open" && (
                <Link className={buttonClass()} to={paths.upload(upload.id)}>
                  Look at it
                </Link>
              )}
              <Button look="quiet" busy={discard.isPending} onClick={() => discard.mutate(upload.id)}>
                Discard<span className="visually-hidden"> {upload.filename}</span>
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {discard.error && <ProblemLines error={discard.error} title="Not discarded" />}
    </section>
  );
}

function told({ status, bytes_received: here, bytes: size, error }: Upload): string {
  if (status === "open") {
    const share = size ? `${percent(here / size)} of ${bytes(size)}` : bytes(here);
    return `${share} arrived; choose the same file again to go on`;
  }
  if (status === "fetching") return "being fetched by the server";
  if (status === "failed") return `failed: ${error?.message ?? "no reason was given"}`;
  return `${size === null ? "" : `${bytes(size)}, `}all here, to be looked at and confirmed`;
}
