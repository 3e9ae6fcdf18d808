import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { ConfirmDialog } from "@/components/dialog";
import { changeRound, closeRound, deleteRound, roundQuery, roundsKey } from "@/features/annotation/api";
import { bareDataset } from "@/features/annotation/model/dataset-reference";
import { datasetQuery } from "@/features/datasets/api/datasets";
import { jobQuery } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import type { Round } from "@/lib/api/types";
import { count } from "@/lib/format";
import styles from "./round.module.css";

/** Ends the round: its answers become a dataset version. */
export function CloseButton({ round }: { round: Round }) {
  const [asking, setAsking] = useState(false);
  const [into, setInto] = useState<"known" | "new">("known");
  const [name, setName] = useState(round.name);
  const known = useKnownDataset(round, asking);
  const close = useRoundChange(round.id, (target: { dataset?: string; name?: string }) => closeRound(round.id, target));
  const confirm = () => {
    setAsking(false);
    close.mutate(known && into === "known" ? { dataset: known.id } : { name: name.trim() || round.name });
  };
  const missing = round.answers_wanted - round.answers;
  return (
    <>
      {close.error && (
        <span className={styles.error} role="alert">
          {close.error.message}
        </span>
      )}
      <Button onClick={() => setAsking(true)} busy={close.isPending}>
        Close round
      </Button>
      <ConfirmDialog
        open={asking}
        title="Close this round?"
        confirm="Close it"
        keep="Not yet"
        look="primary"
        onConfirm={confirm}
        onClose={() => setAsking(false)}
      >
        <p>
          Its answers become rows of preferences, one for each annotator and item.{" "}
          {missing > 0 && `${count(missing, "answer")} that were wanted will not be asked for any more. `}A closed round
          takes no more answers.
        </p>
        <fieldset className={styles.into}>
          <legend>Where to</legend>
          {known && (
            <label>
              <input type="radio" name="into" checked={into === "known"} onChange={() => setInto("known")} />
              <span>
                A new version of <b>{known.name}</b> with its rows and the answers
              </span>
            </label>
          )}
          <label>
            <input type="radio" name="into" checked={!known || into === "new"} onChange={() => setInto("new")} />
            <span>A new dataset with the name</span>
          </label>
          <input
            type="text"
            aria-label="Name of the new dataset"
            value={name}
            maxLength={200}
            disabled={known !== null && into === "known"}
            onChange={(event) => setName(event.target.value)}
          />
        </fieldset>
      </ConfirmDialog>
    </>
  );
}

/** The dataset that the answers belong to most likely: the one they are from, or the preferences of the sampling job. */
function useKnownDataset({ source, policies }: Round, enabled: boolean): { id: string; name: string } | null {
  const jobId = policies?.find((policy) => policy.job)?.job ?? "";
  const job = useQuery({ ...jobQuery(jobId), enabled: enabled && jobId !== "" });
  const reference = source.type === "dataset" ? source.dataset : job.data?.spec.data.preferences;
  const id = bareDataset(reference ?? "");
  const dataset = useQuery({ ...datasetQuery(id), enabled: enabled && id.startsWith("ds_") });
  return dataset.data ? { id, name: dataset.data.name } : null;
}

/** A paused round assigns no new items and still accepts answers. */
export function PauseButton({ round }: { round: Round }) {
  const change = useRoundChange(round.id, (status: "open" | "paused") => changeRound(round.id, { status }));
  const paused = round.status === "paused";
  return (
    <>
      {change.error && (
        <span className={styles.error} role="alert">
          {change.error.message}
        </span>
      )}
      <Button onClick={() => change.mutate(paused ? "open" : "paused")} busy={change.isPending}>
        {paused ? "Open again" : "Pause"}
      </Button>
    </>
  );
}

export function DeleteButton({ round }: { round: Round }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <ConfirmButton
      button="Delete"
      title={`Delete ${round.name}?`}
      confirm="Delete it"
      keep="Keep it"
      action={async () => {
        await deleteRound(round.id);
        await navigate(paths.rounds);
        void client.invalidateQueries({ queryKey: roundsKey });
      }}
    >
      <p>{consequence(round)}</p>
    </ConfirmButton>
  );
}

function consequence({ answers, dataset }: Round): string {
  if (dataset) return "Its answers and figures are deleted permanently. The dataset version made from it stays.";
  return answers > 0
    ? `Its items and ${count(answers, "answer")} are deleted permanently. Close the round first to keep them as a dataset.`
    : "No answers exist yet, so none is lost.";
}

/** A request that answers with the round as it is now. */
function useRoundChange<T>(id: string, change: (argument: T) => Promise<Round>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (round) => client.setQueryData(roundQuery(id).queryKey, round),
    // Refused, it has become something else meanwhile; and the list shows the round too.
    onSettled: () => void client.invalidateQueries({ queryKey: roundsKey }),
  });
}
