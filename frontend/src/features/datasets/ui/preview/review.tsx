import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { ErrorNotice, Notice } from "@/components/notice";
import { Facts, PageHeader } from "@/components/page-header";
import { Announce, ProgressBar, Skeleton } from "@/components/status";
import { uploadQuery } from "@/features/datasets/api/imports";
import type { Upload } from "@/features/datasets/api/upload";
import { useTransfers } from "@/features/datasets/model/transfers";
import { TransferCard } from "@/features/datasets/ui/add/transfer-card";
import { Confirm } from "@/features/datasets/ui/preview/confirm";
import { Problems } from "@/features/datasets/ui/problem-lines";
import { paths } from "@/lib/address";
import { ApiError } from "@/lib/api/client";
import { bytes, percent } from "@/lib/format";
import styles from "@/features/datasets/ui/datasets.module.css";

const POLL_MS = 1000;

/** Second step: what the file was taken for, and its first rows as they will be stored. */
export function Review({ id }: { id: string }) {
  const query = useQuery({
    ...uploadQuery(id),
    refetchInterval: ({ state }) => (state.data && isArriving(state.data) && !isLost(state.error) ? POLL_MS : false),
  });
  const upload = query.data;
  return (
    <>
      <PageHeader title="Check and confirm" parent={{ to: paths.newDataset, label: "Add data" }}>
        {upload && (
          <Facts>
            <span>{upload.filename}</span>
            {upload.bytes !== null && <span>{bytes(upload.bytes)}</span>}
            <code>{upload.id}</code>
          </Facts>
        )}
      </PageHeader>
      {query.isPending && <Skeleton rows={5} height="3rem" label="Loading the upload" />}
      {query.error && (query.isLoadingError || isLost(query.error)) && (
        <ErrorNotice error={query.error} doing="show this upload" onRetry={() => void query.refetch()} />
      )}
      {upload && !isLost(query.error) && <Found upload={upload} />}
    </>
  );
}

const isArriving = ({ status }: Upload): boolean => status === "open" || status === "fetching";

/** Whether the upload has expired or was discarded. A retry does not help then. */
const isLost = (error: Error | null): boolean => error instanceof ApiError && !error.isPassing;

function Found({ upload }: { upload: Upload }) {
  if (upload.status !== "complete") return <NotYet upload={upload} />;
  return (
    <>
      {upload.dataset !== null && (
        <Notice title="This file is a dataset already">
          <p>
            <Link to={paths.dataset(upload.dataset)}>Open it</Link>, or read the file in another way below: that makes
            another dataset.
          </p>
        </Notice>
      )}
      <Confirm upload={upload} />
    </>
  );
}

/** Being fetched, cut off, or failed. */
function NotYet({ upload }: { upload: Upload }) {
  const transfer = useTransfers().find((one) => one.uploadId === upload.id);
  if (transfer) {
    return (
      <ul>
        <TransferCard transfer={transfer} />
      </ul>
    );
  }
  if (upload.status === "failed") {
    const message = upload.error?.message ?? "The server gave no reason.";
    return <Problems title="No rows were stored" message={message} items={[]} total={null} />;
  }
  const { bytes: size, bytes_received: here } = upload;
  const fraction = size ? here / size : 0;
  if (upload.status === "fetching") {
    return (
      <div className={styles.progress}>
        <Announce text="The server is fetching it." />
        <p>
          The server is fetching it: {bytes(here)}
          {size !== null && ` of ${bytes(size)}`}. This page may be left.
        </p>
        <ProgressBar fraction={fraction} label="Fetched" />
      </div>
    );
  }
  return (
    <Notice title="Not all of it has arrived" tone="warn">
      <p>
        {size ? percent(fraction) : bytes(here)} is here. <Link to={paths.newDataset}>Choose the same file again</Link>,
        and it goes on where it stopped.
      </p>
    </Notice>
  );
}
