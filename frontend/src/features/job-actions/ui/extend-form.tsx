import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { Note } from "@/components/card";
import { NumberInput } from "@/components/number-input";
import { toast } from "@/components/toast";
import { extendJob } from "@/features/job-actions/api";
import { Refusal } from "@/features/job-actions/ui/dialogs";
import { useStored } from "@/features/job-actions/ui/use-actions";
import { paths } from "@/lib/address";
import { ApiError } from "@/lib/api/client";
import { numberFault, numberIn } from "@/lib/numbers";
import type { Job } from "@/lib/api/types";
import styles from "./actions.module.css";

const STEPS = { integer: true, min: 1 };

/** More steps of PPO as a new job. Where a schedule depends on the number of steps, the way out is a branch. */
export function ExtendForm({ job, onClose }: { job: Job; onClose: () => void }) {
  const done = job.spec.ppo.steps;
  const [more, setMore] = useState(String(done));
  const store = useStored();
  const navigate = useNavigate();
  const isValid = more.trim() !== "" && !numberFault(more, STEPS);
  const steps = done + (isValid ? numberIn(more, STEPS) : 0);
  const extend = useMutation({
    mutationFn: () => extendJob(job.id, steps),
    onSuccess: async (made) => {
      store(made);
      onClose();
      toast("The extension is queued as a new job.");
      await navigate(paths.job(made.id));
    },
  });
  const isSchedule = extend.error instanceof ApiError && extend.error.body.code === "invalid_spec";
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        extend.mutate();
      }}
    >
      <Note>
        A new job continues PPO after step {done}, with the same settings, and evaluates again. This job stays as it is.
      </Note>
      <label className={styles.field}>
        <span>Further steps</span>
        <NumberInput rules={STEPS} required value={more} onChange={setMore} />
        <small>{isValid ? `${steps} steps in all` : more.trim() ? "" : "Enter a whole number above 0."}</small>
      </label>
      <Refusal error={extend.error} />
      <div className={styles.buttons}>
        {isSchedule && (
          <Link
            className={buttonClass()}
            to={paths.newJob({ branch: job.id, checkpoint: "newest", set: JSON.stringify({ "ppo.steps": steps }) })}
          >
            Branch with {steps} steps
          </Link>
        )}
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" look="primary" disabled={!isValid || extend.isPending}>
          Extend
        </Button>
      </div>
    </form>
  );
}
