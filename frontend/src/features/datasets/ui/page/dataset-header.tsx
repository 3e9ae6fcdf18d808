import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { CopyButton } from "@/components/copy-button";
import { StatusBadge } from "@/components/status-badge";
import { TimeAgo } from "@/components/time-ago";
import { kindLabel } from "@/features/datasets/model/kinds";
import { ArchiveButton } from "@/features/datasets/ui/page/archive-button";
import { DeleteButton } from "@/features/datasets/ui/page/delete-button";
import { Name } from "@/features/datasets/ui/page/name";
import type { Go } from "@/features/datasets/ui/page/use-place";
import { ExportLinks } from "@/features/datasets/ui/versions/export-links";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { bytes, count } from "@/lib/format";
import { paths } from "@/lib/paths";
import styles from "@/features/datasets/ui/datasets.module.css";

interface Props {
  dataset: Dataset;
  version: DatasetVersion | null;
  versions: readonly DatasetVersion[];
  go: Go;
}

export function DatasetHeader({ dataset, version, versions, go }: Props) {
  const canAnnotate = dataset.kind === "preferences" || dataset.kind === "prompts";
  const isStored = version !== null && version.rows !== null;
  return (
    <header className={styles.head}>
      <nav aria-label="Breadcrumb">
        <Link to={paths.datasets}>Datasets</Link>
      </nav>
      <div className={styles.title}>
        <Name dataset={dataset} />
        <div className={styles.actions}>
          {isStored && canAnnotate && (
            <Link className={buttonClass()} to={paths.newRound({ dataset: `${dataset.id}@${version.number}` })}>
              Annotate
            </Link>
          )}
          {isStored && <ExportLinks datasetId={dataset.id} version={version.number} />}
          <CopyButton text={dataset.id} label="Copy id" />
          <ArchiveButton dataset={dataset} />
          <DeleteButton dataset={dataset} versions={versions} />
        </div>
      </div>
      <p className={styles.facts}>
        <span>{kindLabel(dataset.kind)}</span>
        {versions.length > 1 ? (
          <label className={styles.version}>
            <span className="visually-hidden">Version</span>
            <select
              value={version?.number ?? ""}
              onChange={(event) => go({ version: asVersion(Number(event.target.value), dataset) }, true)}
            >
              {!version && <option value="">no such version</option>}
              {versions.map((one) => (
                <option key={one.id} value={one.number}>
                  version {one.number}
                  {one.number === dataset.version && ", the newest"}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <span>version {dataset.version}</span>
        )}
        {version && <StatusBadge status={version.status} />}
        {dataset.archived_at && <StatusBadge status="archived" />}
        {version?.rows != null && <span>{count(version.rows, "row")}</span>}
        {version?.bytes != null && <span>{bytes(version.bytes)}</span>}
        <span>
          added <TimeAgo time={version?.created_at ?? dataset.created_at} />
        </span>
        <code>{dataset.id}</code>
      </p>
    </header>
  );
}

/** The newest needs no number in the address: the page then follows the dataset. */
const asVersion = (number: number, dataset: Dataset): number | null => (number === dataset.version ? null : number);
