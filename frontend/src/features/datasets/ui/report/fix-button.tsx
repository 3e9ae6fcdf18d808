import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/dialog";
import { applyFixes, datasetsKey } from "@/features/datasets/api/datasets";
import type { Go } from "@/features/datasets/model/place";
import type { Found } from "@/features/datasets/model/report";
import type { Dataset, DatasetVersion } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./report.module.css";

interface Props {
  dataset: Dataset;
  version: DatasetVersion;
  /** Codes of one report. None: only records that the import could not use are left out. */
  found: readonly Found[];
  label: string;
  look?: "plain" | "primary";
  go: Go;
}

/** Stands for everything that an import could not use. A blocked version is mended of that in any case. */
const LEAVE_OUT = "leave_out";

/** A fix: after a question, a new version without what is wrong. */
export function FixButton({ dataset, version, found, label, look = "plain", go }: Props) {
  const [asking, setAsking] = useState(false);
  const isBlocked = version.status === "blocked";
  const client = useQueryClient();
  const mend = useMutation({
    mutationFn: () => {
      const codes = found.map((one) => one.finding.code);
      const all = isBlocked ? [...codes, LEAVE_OUT] : codes;
      return applyFixes(dataset.id, version.number, found[0]?.report ?? null, all);
    },
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: [...datasetsKey, dataset.id] });
      go({ version: made.number, tab: "report" }, true);
    },
  });
  return (
    <>
      <Button look={look} onClick={() => setAsking(true)} busy={mend.isPending}>
        {mend.isPending ? "Making a new version…" : label}
      </Button>
      {mend.error && (
        <span className={styles.error} role="alert">
          {mend.error.message}
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
          mend.mutate();
        }}
        onClose={() => setAsking(false)}
      >
        {found.length > 0 && (
          <ul className={styles.fixes}>
            {found.map(({ finding: { code, title, count: times, share, fix } }) => (
              <li key={code}>
                <b>{title}</b>
                {share !== null && ` (${times.toLocaleString("en-US")})`}
                {found.length > 1 && `: ${lowerFirst(fix?.label ?? "")}`}
              </li>
            ))}
          </ul>
        )}
        <p>
          {isBlocked &&
            found.length > 0 &&
            `${count(version.left_out, "record")} that the import could not use stay out. `}
          Version {version.number} stays as it is
          {version.jobs.length > 0 && `, and so do the ${count(version.jobs.length, "job")} that use it`}. The result is
          a version of its own.
        </p>
      </ConfirmDialog>
    </>
  );
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
