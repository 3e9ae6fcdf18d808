import { Table } from "@/components/table";
import type { Worker } from "@/features/workers/api";
import { clustersOf, nodesText, rowsOf } from "@/features/workers/model";
import styles from "./workers.module.css";

/** The partitions and nodes of the clusters that workers submit to, and their state. */
export function Clusters({ workers }: { workers: readonly Worker[] }) {
  return clustersOf(workers).map(({ name, partitions }) => (
    <section key={name} className={styles.cluster} data-cluster={name}>
      <h2>Slurm cluster {name}</h2>
      <Table label={`Partitions and nodes of ${name}`} head={["Partition", "Nodes", "State", "Time limit", "Reason"]}>
        {rowsOf(partitions).map(({ key, name: partition, default: isDefault, up, time_limit, group }) => (
          <tr key={key}>
            <th scope="row">
              {partition}
              {isDefault && " (default)"}
            </th>
            <td data-label="Nodes">
              {group ? nodesText(group) : "none"}
              {group && <small className={styles.id}>{group.nodes}</small>}
            </td>
            <td data-label="State">{[group?.state, up ? null : "partition down"].filter(Boolean).join(", ")}</td>
            <td data-label="Time limit">{time_limit}</td>
            <td data-label="Reason">{group?.reason || "none"}</td>
          </tr>
        ))}
      </Table>
    </section>
  ));
}
