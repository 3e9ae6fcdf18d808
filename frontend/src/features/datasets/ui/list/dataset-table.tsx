import { CopyButton } from "@/components/button";
import { ProgressBar, StatusBadge } from "@/components/status";
import { RowLink, Table } from "@/components/table";
import { TimeAgo } from "@/components/text";
import { kindLabel } from "@/features/datasets/model/kinds";
import { paths } from "@/lib/address";
import type { Dataset } from "@/lib/api/types";
import { bytes, count, NO_VALUE } from "@/lib/format";
import styles from "@/features/datasets/ui/datasets.module.css";

const HEAD = [
  "Dataset",
  "Kind",
  "Status",
  "Rows",
  "Findings",
  "Size",
  "Added",
  <th key="actions" scope="col">
    <span className="visually-hidden">Actions</span>
  </th>,
];

export function DatasetTable({ datasets }: { datasets: readonly Dataset[] }) {
  return (
    <Table label="Datasets" head={HEAD} className={styles.table}>
      {datasets.map((dataset) => (
        <tr key={dataset.id}>
          <th scope="row" className={styles.name}>
            <RowLink to={paths.dataset(dataset.id)}>{dataset.name}</RowLink>
            <code>{dataset.id}</code>
            {dataset.version > 1 && <small>version {dataset.version}</small>}
          </th>
          <td>{kindLabel(dataset.kind)}</td>
          <td>
            <StatusBadge status={dataset.archived_at ? "archived" : dataset.status} />
            {dataset.status === "importing" && (
              <ProgressBar fraction={dataset.progress?.fraction ?? 0} label={`Import of ${dataset.name}`} />
            )}
          </td>
          <td>{dataset.rows === null ? NO_VALUE : count(dataset.rows, "row")}</td>
          <td>
            <FindingCounts findings={dataset.findings} />
          </td>
          <td>{dataset.bytes === null ? NO_VALUE : bytes(dataset.bytes)}</td>
          <td>
            <TimeAgo time={dataset.created_at} />
          </td>
          <td className={styles.copy}>
            <CopyButton text={dataset.id} label="Copy id" of={dataset.name} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** How many kinds of trouble the newest version has, by how bad they are. */
function FindingCounts({ findings }: { findings: { blocking: number; warning: number } }) {
  const { blocking, warning } = findings;
  if (!blocking && !warning) return <span className={styles.none}>none</span>;
  return (
    <span className={styles.counts}>
      {blocking > 0 && <b className={styles.bad}>{count(blocking, "blocking", "blocking")}</b>}
      {warning > 0 && <b className={styles.warn}>{count(warning, "warning")}</b>}
    </span>
  );
}
