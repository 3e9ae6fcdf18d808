import { Link } from "react-router";
import type { Dataset } from "@/api/types";
import { CopyButton } from "@/components/copy-button";
import { TimeAgo } from "@/components/time-ago";
import styles from "@/features/datasets/datasets.module.css";
import { kindLabel } from "@/features/datasets/kinds";
import { bytes, count } from "@/lib/format";
import { paths } from "@/lib/paths";

export function DatasetTable({ datasets }: { datasets: readonly Dataset[] }) {
  return (
    <div className={styles.frame}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Dataset</th>
            <th scope="col">Kind</th>
            <th scope="col">Rows</th>
            <th scope="col">Size</th>
            <th scope="col">Uploaded</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {datasets.map((dataset) => (
            <tr key={dataset.id}>
              <td className={styles.name}>
                <Link to={paths.dataset(dataset.id)}>{dataset.name}</Link>
                <code>{dataset.id}</code>
              </td>
              <td>{kindLabel(dataset.kind)}</td>
              <td>{count(dataset.rows, "row")}</td>
              <td>{bytes(dataset.bytes)}</td>
              <td>
                <TimeAgo time={dataset.created_at} />
              </td>
              <td className={styles.copy}>
                <CopyButton text={dataset.id} label="Copy id" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
