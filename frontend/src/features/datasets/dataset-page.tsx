import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "react-router";
import { datasetQuery } from "@/api/datasets";
import type { Dataset } from "@/api/types";
import { CopyButton } from "@/components/copy-button";
import { ErrorNotice } from "@/components/error-notice";
import { useDocumentTitle } from "@/components/page-title";
import { Skeleton } from "@/components/skeleton";
import { TimeAgo } from "@/components/time-ago";
import styles from "@/features/datasets/datasets.module.css";
import { DeleteButton } from "@/features/datasets/delete-button";
import { kindLabel } from "@/features/datasets/kinds";
import { RowsPreview } from "@/features/datasets/rows-preview";
import { bytes, count } from "@/lib/format";
import { paths } from "@/lib/paths";

export function DatasetPage() {
  const { datasetId = "" } = useParams();
  const query = useQuery(datasetQuery(datasetId));
  useDocumentTitle(query.data?.name ?? "Dataset");
  if (query.isPending) return <Skeleton rows={6} height="2.5rem" label="Loading the dataset" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="show this dataset" onRetry={() => void query.refetch()} />;
  }
  return (
    <>
      <Head dataset={query.data} />
      <RowsPreview dataset={query.data} />
    </>
  );
}

function Head({ dataset }: { dataset: Dataset }) {
  return (
    <header className={styles.head}>
      <nav aria-label="Breadcrumb">
        <Link to={paths.datasets}>Datasets</Link>
      </nav>
      <div className={styles.title}>
        <h1>{dataset.name}</h1>
        <CopyButton text={dataset.id} label="Copy id" />
        <DeleteButton dataset={dataset} />
      </div>
      <p className={styles.facts}>
        <span>{kindLabel(dataset.kind)}</span>
        <span>{count(dataset.rows, "row")}</span>
        <span>{bytes(dataset.bytes)}</span>
        <span>
          uploaded <TimeAgo time={dataset.created_at} />
        </span>
        <code>{dataset.id}</code>
        <code title={`SHA-256 of the rows as stored: ${dataset.sha256}`}>sha256 {dataset.sha256.slice(0, 12)}…</code>
      </p>
    </header>
  );
}
