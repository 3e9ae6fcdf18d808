import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { DatasetVersion } from "@/api/dataset-types";
import { datasetsKey } from "@/api/datasets";
import { applyFixes } from "@/api/reports";
import type { Dataset } from "@/api/types";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/confirm-dialog";
import type { Go } from "@/features/datasets/page/use-place";
import type { Found } from "@/features/datasets/report/order";
import styles from "@/features/datasets/report/report.module.css";
import { count } from "@/lib/format";

interface Props {
  dataset: Dataset;
  version: DatasetVersion;
  /** All from the same report, or all from the import. */
  found: readonly Found[];
  label: string;
  go: Go;
}

/** A fix: after a question, a new version without what is wrong. */
export function FixButton({ dataset, version, found, label, go }: Props) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const fix = useMutation({
    mutationFn: () =>
      applyFixes(
        dataset.id,
        version.number,
        found[0]?.report ?? null,
        found.map((one) => one.finding.code),
      ),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: [...datasetsKey, dataset.id] });
      go({ version: made.number, tab: "report" }, true);
    },
  });
  const labels = found.flatMap((one) => one.finding.fix?.label ?? []);
  return (
    <>
      <Button onClick={() => setAsking(true)} disabled={fix.isPending}>
        {fix.isPending ? "Making a new version…" : label}
      </Button>
      {fix.error && (
        <span className={styles.error} role="alert">
          {fix.error.message}
        </span>
      )}
      <ConfirmDialog
        open={asking}
        title={`${label}?`}
        confirm="Make a new version"
        keep="Not now"
        look="primary"
        onConfirm={() => {
          setAsking(false);
          fix.mutate();
        }}
        onClose={() => setAsking(false)}
      >
        {labels.length > 1 && (
          <ul className={styles.fixes}>
            {labels.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        )}
        <p>
          Version {version.number} stays as it is
          {version.jobs.length > 0 && `, and so do the ${count(version.jobs.length, "job")} that use it`}. The result is a
          version of its own.
        </p>
      </ConfirmDialog>
    </>
  );
}
