import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { deleteRound, roundsKey } from "@/features/annotation/api";
import type { Round } from "@/lib/api/types";
import { count } from "@/lib/format";
import { paths } from "@/lib/paths";
import styles from "./round.module.css";

export function DeleteButton({ round }: { round: Round }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: () => deleteRound(round.id),
    onSuccess: async () => {
      await navigate(paths.rounds);
      void client.invalidateQueries({ queryKey: roundsKey });
    },
  });
  return (
    <>
      {remove.error && (
        <span className={styles.error} role="alert">
          {remove.error.message}
        </span>
      )}
      <Button look="danger" onClick={() => setAsking(true)} disabled={remove.isPending}>
        Delete
      </Button>
      <ConfirmDialog
        open={asking}
        title={`Delete ${round.name}?`}
        confirm="Delete it"
        keep="Keep it"
        onConfirm={() => {
          setAsking(false);
          remove.mutate();
        }}
        onClose={() => setAsking(false)}
      >
        <p>{consequence(round)}</p>
      </ConfirmDialog>
    </>
  );
}

function consequence({ answers, dataset }: Round): string {
  if (dataset) return "Its answers and figures are gone for good. The dataset version that it became stays.";
  return answers > 0
    ? `Its items and ${count(answers, "answer")} are gone for good; close it first to keep them as a dataset.`
    : "Nobody has answered yet, so no answer is lost.";
}
