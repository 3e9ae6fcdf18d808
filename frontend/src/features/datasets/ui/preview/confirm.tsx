import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { asMapping, previewQuery, type Reading } from "@/features/datasets/api/imports";
import type { Upload } from "@/features/datasets/api/upload";
import { type Draft, fromMapping, lack, toMapping } from "@/features/datasets/model/mapping";
import { ImportForm } from "@/features/datasets/ui/preview/import-form";
import { MappingForm } from "@/features/datasets/ui/preview/mapping-form";
import { PreviewRows } from "@/features/datasets/ui/preview/preview-rows";
import { EncodingField, Readings } from "@/features/datasets/ui/preview/readings";
import { isPassing } from "@/lib/api/client";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

const DETECTED: Reading = { format: null, kind: null, mapping: null, encoding: null };
const MAPPED: Reading = { ...DETECTED, format: "custom" };
const TYPING_MS = 250;

/** The detected format, the alternatives, and a form for columns that the user has to choose. */
export function Confirm({ upload }: { upload: Upload }) {
  const [chosen, setChosen] = useState<Reading>(DETECTED);
  const [edited, setDraft] = useState<Draft | null>(null);
  const [encoding, setEncoding] = useState<string | null>(null);
  const undecided: Reading = { ...DETECTED, encoding };
  const detected = useQuery(previewQuery(upload.id, undecided));
  const draft = edited ?? (chosen.format === null && detected.data ? drafted(detected.data) : null);
  const reading = useSettled(within(draft ? ofDraft(draft) : chosen, encoding), TYPING_MS);
  const shown = useQuery({
    ...previewQuery(upload.id, reading ?? undecided),
    enabled: reading !== null,
    placeholderData: keepPreviousData,
  });
  if (detected.isPending) return <Skeleton rows={5} height="4rem" label="Loading the first rows" />;
  const decode = (name: string | null) => {
    // The names of columns may be others: what was said of them does not hold.
    setChosen(DETECTED);
    setDraft(null);
    setEncoding(name);
  };
  if (detected.isError) {
    return (
      <div className={styles.stack}>
        <ErrorNotice error={detected.error} doing="read this file" onRetry={() => void detected.refetch()} />
        {!isPassing(detected.error) && (
          <section className={styles.card} aria-label="Encoding">
            <EncodingField encoding={encoding} onChange={decode} />
          </section>
        )}
      </div>
    );
  }
  const first = detected.data;
  const plan = first.plan;
  const lacking = draft && lack(draft);
  const current = draft ? (ofDraft(draft) ?? DETECTED) : chosen.format ? chosen : asPlanned(plan);
  const mapByHand = () => setDraft(fromMapping(asMapping(plan?.mapping ?? first.suggested), first.columns));
  return (
    <div className={styles.columns}>
      <div className={styles.side}>
        <Readings
          preview={first}
          reading={draft ? MAPPED : current}
          onChoose={(candidate) => {
            setDraft(null);
            setChosen({ ...DETECTED, format: candidate.format, kind: candidate.kind });
          }}
          onMap={mapByHand}
          encoding={encoding}
          onDecode={decode}
        />
        {draft && <MappingForm draft={draft} columns={first.columns} onChange={setDraft} />}
        <ImportForm upload={upload} reading={{ ...current, encoding }} blocked={lacking ?? notYet(current)} />
      </div>
      <PreviewRows query={shown} lacking={lacking} />
    </div>
  );
}

const asPlanned = (plan: UploadPreview["plan"]): Reading =>
  plan ? { ...DETECTED, format: plan.format, kind: plan.kind, mapping: asMapping(plan.mapping) } : DETECTED;

const within = (reading: Reading | null, encoding: string | null): Reading | null =>
  reading && { ...reading, encoding };

/** Nothing but a mapping can read it: the form is open from the start. */
function drafted({ plan, candidates, suggested, columns }: UploadPreview): Draft | null {
  if (plan?.format === "custom") return fromMapping(asMapping(plan.mapping), columns);
  // Without columns no record was readable, as in another encoding: there is nothing to map.
  return plan || candidates.length || !columns.length ? null : fromMapping(asMapping(suggested), columns);
}

/** Null while something is missing: there is nothing to ask the server then. */
const ofDraft = (draft: Draft): Reading | null =>
  lack(draft) ? null : { ...MAPPED, kind: draft.shape.kind, mapping: toMapping(draft) };

const notYet = (reading: Reading): string | null => (reading.format === null ? "Choose how to read the file." : null);

/** The value once it has not changed for a while; compared by content, so that an equal one changes nothing. */
function useSettled<T>(value: T, delayMs: number): T {
  const [settled, setSettled] = useState(value);
  const content = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(content) as T), delayMs);
    return () => clearTimeout(timer);
  }, [content, delayMs]);
  return settled;
}
