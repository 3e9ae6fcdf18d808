import { useQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { bareDataset, versionOf } from "@/features/annotation/model/dataset-reference";
import { Field, type FieldsProps } from "@/features/annotation/ui/create/field";
import { DatasetSelect } from "@/features/annotation/ui/create/selects";
import { datasetQuery, reportsQuery } from "@/features/datasets/api/datasets";
import { count } from "@/lib/format";
import styles from "./create.module.css";

/** Fields of a round over existing rows: those without a label, or all of them. */
export function DatasetFields({ draft, problems, onChange }: FieldsProps) {
  const unlabelled = useUnlabelled(draft.dataset);
  // A round without items would fail. The user may still choose otherwise.
  const offersAll = useEffectEvent(() => onChange({ rows: "all" }));
  useEffect(() => {
    if (unlabelled === 0) offersAll();
  }, [unlabelled, draft.dataset]);
  return (
    <div className={styles.fields}>
      <DatasetSelect
        label="Dataset"
        note="Pairs or rankings, labelled or not."
        problem={problems.dataset}
        kinds={["preferences"]}
        value={draft.dataset}
        onChange={(dataset) => onChange({ dataset, rows: "unlabelled" })}
      />
      <Field label="Which rows" note={unlabelled === undefined ? undefined : unlabelledText(unlabelled)}>
        <select
          value={draft.rows}
          onChange={(event) => onChange({ rows: event.target.value === "all" ? "all" : "unlabelled" })}
        >
          <option value="unlabelled">Rows without a label</option>
          <option value="all">All rows, labelled or not</option>
        </select>
      </Field>
      <Field label="At most" note="Rows, drawn at random." problem={problems.limit}>
        <input
          type="text"
          inputMode="numeric"
          placeholder="1000"
          value={draft.limit}
          onChange={(event) => onChange({ limit: event.target.value })}
        />
      </Field>
    </div>
  );
}

/** Number of rows of a version without a label, as its report counted them; undefined before it has. */
function useUnlabelled(reference: string): number | undefined {
  const id = bareDataset(reference);
  const dataset = useQuery({ ...datasetQuery(id), enabled: id.startsWith("ds_") });
  const version = versionOf(reference) ?? dataset.data?.version ?? 0;
  const reports = useQuery({ ...reportsQuery(id, version), enabled: version > 0 });
  return reports.data?.find((report) => report.result)?.result?.summary.unlabelled;
}

function unlabelledText(rows: number): string {
  if (rows === 0) return "Every row of it has a label.";
  return `${count(rows, "row")} of it ${rows === 1 ? "has" : "have"} none.`;
}
