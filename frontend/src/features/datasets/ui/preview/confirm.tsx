import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Button } from "@/components/button";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { asMapping, previewQuery, type Reading } from "@/features/datasets/api/imports";
import type { Upload } from "@/features/datasets/api/upload";
import { type Draft, fromMapping, missingChoice, toMapping } from "@/features/datasets/model/mapping";
import { ImportForm } from "@/features/datasets/ui/preview/import-form";
import { MappingForm } from "@/features/datasets/ui/preview/mapping-form";
import { PreviewRows } from "@/features/datasets/ui/preview/preview-rows";
import { type Choice, Ignored, Questions } from "@/features/datasets/ui/preview/questions";
import { EncodingField, Readings } from "@/features/datasets/ui/preview/readings";
import { ApiError, isPassing } from "@/lib/api/client";
import type { UploadPreview } from "@/lib/api/types";
import styles from "./preview.module.css";

const DETECTED: Reading = { format: null, kind: null, mapping: null, encoding: null, ignore: [] };
const MAPPED: Reading = { ...DETECTED, format: "custom" };
const TYPING_MS = 250;

/** The detected format, the alternatives, and a form for columns that the user has to choose. */
export function Confirm({ upload }: { upload: Upload }) {
  const [chosen, setChosen] = useState<Reading>(DETECTED);
  const [edited, setDraft] = useState<Draft | null>(null);
  const [encoding, setEncoding] = useState<string | null>(null);
  const [ignore, setIgnore] = useState<string[]>([]);
  const undecided: Reading = { ...DETECTED, encoding, ignore };
  const detected = useQuery(previewQuery(upload.id, undecided));
  const isOpen = chosen.format === null && chosen.kind === null;
  const draft = edited ?? (isOpen && detected.data ? drafted(detected.data) : null);
  const wanted = draft ? ofDraft(draft) : chosen;
  const reading = useSettled(wanted && { ...wanted, encoding, ignore }, TYPING_MS);
  const shown = useQuery({
    ...previewQuery(upload.id, reading ?? undecided),
    enabled: reading !== null,
    placeholderData: keepPreviousData,
  });
  if (detected.isPending) return <Skeleton rows={5} height="4rem" label="Loading the first rows" />;
  const decode = (name: string | null) => {
    // The names of columns may be others, so the earlier choices do not apply.
    setChosen(DETECTED);
    setDraft(null);
    setIgnore([]);
    setEncoding(name);
  };
  if (detected.isError) {
    return (
      <div className={styles.stack}>
        <ErrorNotice error={detected.error} doing="read this file" onRetry={() => void detected.refetch()} />
        {!isPassing(detected.error) && (
          <section className={styles.card} aria-label="Encoding">
            {likelyEncodings(detected.error).map((name) => (
              <Button key={name} look="primary" onClick={() => decode(name)}>
                Read it as {name}
              </Button>
            ))}
            <EncodingField encoding={encoding} onChange={decode} />
          </section>
        )}
      </div>
    );
  }
  const first = detected.data;
  // Under a mapping the user has chosen the columns.
  const current = isOpen ? first : shown.isPlaceholderData ? undefined : shown.data;
  const questions = draft ? [] : (current?.questions ?? []);
  const plan = current?.plan ?? null;
  const lacking = draft && missingChoice(draft);
  const readAs = draft ? MAPPED : chosen.format ? chosen : asPlanned(plan, chosen);
  const mapByHand = () => setDraft(fromMapping(asMapping(plan?.mapping ?? first.suggested), first.columns));
  const choose = (choice: Choice) => {
    setIgnore([...new Set([...ignore, ...choice.ignore])]);
    if (choice.mapping) setDraft(fromMapping(asMapping(choice.mapping), first.columns));
    else if (choice.format ?? choice.kind) setChosen({ ...DETECTED, format: choice.format, kind: choice.kind });
  };
  const asked = questions.length ? "Answer the question about the columns." : null;
  const blocked = lacking ?? asked ?? (draft || plan || !isOpen ? null : "Choose how to read the file.");
  return (
    <div className={styles.columns}>
      <div className={styles.side}>
        <Questions questions={questions} onChoose={choose} />
        <Readings
          preview={first}
          reading={readAs}
          onChoose={(candidate) => {
            setDraft(null);
            setChosen({ ...DETECTED, format: candidate.format, kind: candidate.kind });
          }}
          onMap={mapByHand}
          encoding={encoding}
          onDecode={decode}
        />
        <Ignored columns={ignore} onRestore={(column) => setIgnore(ignore.filter((name) => name !== column))} />
        {draft && <MappingForm draft={draft} columns={first.columns} onChange={setDraft} />}
        <ImportForm
          upload={upload}
          reading={{ ...(wanted ?? DETECTED), encoding, ignore }}
          kind={draft?.shape.kind ?? chosen.kind ?? plan?.kind ?? null}
          blocked={blocked}
        />
      </div>
      <PreviewRows query={shown} lacking={lacking ?? asked} />
    </div>
  );
}

/** The encodings that the server suggests for a file that is not UTF-8. */
const likelyEncodings = (error: Error): readonly string[] =>
  error instanceof ApiError ? (error.body.encodings ?? []) : [];

/** How the file is read now: as the platform planned, else as chosen. */
const asPlanned = (plan: UploadPreview["plan"], chosen: Reading): Reading =>
  plan ? { ...DETECTED, format: plan.format, kind: plan.kind, mapping: asMapping(plan.mapping) } : chosen;

/** Nothing but a mapping can read it: the form is open from the start. */
function drafted({ plan, candidates, suggested, columns, questions }: UploadPreview): Draft | null {
  if (plan?.format === "custom") return fromMapping(asMapping(plan.mapping), columns);
  // Without columns no record was readable, as in another encoding: there is nothing to map.
  return plan || questions.length || candidates.length || !columns.length
    ? null
    : fromMapping(asMapping(suggested), columns);
}

/** Null while something is missing: there is nothing to ask the server then. */
const ofDraft = (draft: Draft): Reading | null =>
  missingChoice(draft) ? null : { ...MAPPED, kind: draft.shape.kind, mapping: toMapping(draft) };

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
