import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { Announce, ProgressBar } from "@/components/status";
import { datasetsKey, stopImport } from "@/features/datasets/api/datasets";
import type { Go } from "@/features/datasets/model/place";
import { ProblemLines, Problems } from "@/features/datasets/ui/problem-lines";
import { FixButton } from "@/features/datasets/ui/report/fix-button";
import { paths } from "@/lib/address";
import type { Dataset, DatasetVersion, ProblemItem } from "@/lib/api/types";
import { count, percent } from "@/lib/format";
import styles from "@/features/datasets/ui/datasets.module.css";

interface Props {
  dataset: Dataset;
  /** Null where the address names one that there is not. */
  version: DatasetVersion | null;
  wanted: number;
  go: Go;
}

/** Why the version at hand cannot be used, where it cannot: it is on its way, blocked, or failed. */
export function StatePanel({ dataset, version, wanted, go }: Props) {
  if (!version) {
    return (
      <Notice title={`There is no version ${wanted}`}>
        <p>
          The newest is <Link to={paths.dataset(dataset.id)}>version {dataset.version}</Link>.
        </p>
      </Notice>
    );
  }
  if (version.damage !== null) return <Damaged dataset={dataset} version={version} />;
  if (version.status === "importing") return <Importing dataset={dataset} />;
  if (version.status === "failed") {
    const { message = "No reason was given.", errors = [] } = version.error ?? {};
    return (
      <div className={styles.state}>
        <Problems
          title="The import failed. No rows were stored."
          message={message}
          items={errors as ProblemItem[]}
          total={null}
        />
      </div>
    );
  }
  return version.status === "blocked" ? <Blocked dataset={dataset} version={version} go={go} /> : null;
}

/** The stored rows are not those that were imported. */
function Damaged({ dataset, version }: { dataset: Dataset; version: DatasetVersion }) {
  return (
    <Notice tone="bad" title="The stored rows are damaged">
      <p>
        {`Version ${version.number} of ${dataset.name}: rows.jsonl ${version.damage}. No job, round or export uses it.`}
      </p>
      <p>
        <Link to={paths.newDataset}>Import the same file again</Link>: that stores the rows anew, for every version that
        holds them.
      </p>
    </Notice>
  );
}

function Importing({ dataset }: { dataset: Dataset }) {
  const { fraction = 0, note = "" } = dataset.progress ?? {};
  const client = useQueryClient();
  const stop = useMutation({
    mutationFn: () => stopImport(dataset.id),
    onSettled: () => client.invalidateQueries({ queryKey: [...datasetsKey, dataset.id] }),
  });
  return (
    <div className={styles.progress}>
      <Announce text={fraction > 0 ? "Being imported." : "The import waits for a worker."} />
      <p>
        {fraction > 0
          ? `Being imported: ${[percent(fraction), note].filter(Boolean).join(", ")}.`
          : "The import waits for a worker."}{" "}
        This page may be left.
      </p>
      <ProgressBar fraction={fraction} label="Import" />
      <p>
        <Button onClick={() => stop.mutate()} busy={stop.isPending}>
          Stop the import
        </Button>
      </p>
      {stop.error && <ProblemLines error={stop.error} title="Not stopped" />}
    </div>
  );
}

/** Blocking findings are fixed together. */
function Blocked({ dataset, version, go }: { dataset: Dataset; version: DatasetVersion; go: Go }) {
  return (
    <div className={styles.state}>
      <Notice tone="warn" title={`${count(version.left_out, "record")} could not be used`}>
        <p>
          No job takes this version until you say what is to become of them. Leave them out, or mend the file and upload
          it again. Below stands what is wrong with them, and on which lines.
        </p>
        <FixButton
          {...{ dataset, version, go }}
          found={[]}
          look="primary"
          label={`Leave out ${count(version.left_out, "record")}`}
        />
      </Notice>
    </div>
  );
}
