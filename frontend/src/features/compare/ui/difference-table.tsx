import { Table } from "@/components/table";
import type { Difference } from "@/features/compare/model/differences";
import { RunName, type RunsProps } from "@/features/compare/ui/tables";
import styles from "./compare.module.css";

/** The fields in which the specs differ. */
export function DifferenceTable({ found, jobs, lookOf }: RunsProps & { found: readonly Difference[] }) {
  const heads = jobs.map((job) => (
    <th scope="col" key={job.id}>
      <RunName job={job} {...lookOf(job.id)} />
    </th>
  ));
  return (
    <Table
      label="Differences of the specs"
      look="plain"
      sticky
      head={["Field", ...heads]}
      className={styles.differences}
    >
      {found.map(({ path, values }) => (
        <tr key={path}>
          <th scope="row">
            <code>{path}</code>
          </th>
          {values.map((value, index) => (
            <td key={jobs[index]?.id}>{value}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}
