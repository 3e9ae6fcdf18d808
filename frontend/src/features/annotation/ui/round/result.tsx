import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Combobox } from "@/components/combobox";
import { ConfirmDialog } from "@/components/dialog";
import { NumberInput } from "@/components/number-input";
import { Skeleton } from "@/components/status";
import { continuationQuery, continueJob, roundsKey } from "@/features/annotation/api";
import { DatasetLink } from "@/features/annotation/ui/round/round-header";
import { jobQuery, jobsKey, jobsQuery } from "@/features/jobs/api";
import { JobLink } from "@/components/job-link";
import { paths } from "@/lib/address";
import { numberFault, numberIn } from "@/lib/numbers";
import type { Round } from "@/lib/api/types";
import styles from "./round.module.css";

/** The dataset and the jobs that follow from a closed round. */
export function Result({ round }: { round: Round }) {
  return (
    <Card className={styles.result} aria-label="Result" title="Result">
      {round.dataset ? (
        <p>
          <DatasetLink reference={round.version === null ? round.dataset : `${round.dataset}@${round.version}`} />
        </p>
      ) : (
        <p>Its dataset has been deleted.</p>
      )}
      {round.jobs.length > 0 && (
        <p>
          Went on as{" "}
          {round.jobs.map((job) => (
            <span key={job} className={styles.job}>
              <JobLink id={job} />
            </span>
          ))}
        </p>
      )}
      {round.dataset && <ContinueButton round={round} />}
    </Card>
  );
}

const STEPS = { integer: true, min: 1 };

/** The online recipe: fit the reward model again with the answers of people, and go on with PPO. */
function ContinueButton({ round }: { round: Round }) {
  const own = round.policies?.find((policy) => policy.job)?.job ?? "";
  const [asking, setAsking] = useState(false);
  const [job, setJob] = useState(own);
  const [steps, setSteps] = useState("");
  const sane = !numberFault(steps, STEPS);
  const wanted = sane && steps.trim() ? numberIn(steps, STEPS) : null;
  const plan = useQuery({ ...continuationQuery(round.id, job, wanted), enabled: asking && job !== "" && sane });
  const go = useContinue(round.id);
  return (
    <>
      {go.error && (
        <span className={styles.error} role="alert">
          {go.error.message}
        </span>
      )}
      <Button look="primary" onClick={() => setAsking(true)} busy={go.isPending}>
        {go.isPending ? "Submitting…" : "Continue the job"}
      </Button>
      <ConfirmDialog
        open={asking}
        title="Continue a job with these answers?"
        confirm="Submit the job"
        keep="Not now"
        look="primary"
        disabled={!plan.data || !sane || plan.isFetching}
        onConfirm={() => {
          setAsking(false);
          go.mutate({ job, steps: wanted });
        }}
        onClose={() => setAsking(false)}
      >
        <div className={styles.plan}>
          <JobChoice own={own} value={job} onChange={setJob} />
          <label>
            PPO steps
            <NumberInput rules={STEPS} placeholder="as many as it had" value={steps} onChange={setSteps} />
          </label>
          <div role="status">
            {sane && plan.isFetching && !plan.data && <Skeleton rows={2} label="Working out what will run" />}
            {sane && plan.error && <p className={styles.error}>{plan.error.message}</p>}
            {sane && !plan.error && plan.data && (
              <>
                <b>This will run, as a new job:</b>
                <ol>
                  {plan.data.sentences.map((sentence) => (
                    <li key={sentence}>{sentence}</li>
                  ))}
                </ol>
              </>
            )}
          </div>
        </div>
      </ConfirmDialog>
    </>
  );
}

interface ChoiceProps {
  own: string;
  value: string;
  onChange: (job: string) => void;
}

function JobChoice({ own, value, onChange }: ChoiceProps) {
  const query = useInfiniteQuery(jobsQuery);
  const first = useQuery({ ...jobQuery(own), enabled: own !== "" }).data;
  const listed = query.data?.pages.flatMap((page) => page.data) ?? [];
  const others = listed.filter(({ id }) => id !== own).map(({ id, name }) => ({ value: id, label: name || id }));
  const writer = { value: own, label: `${first?.name || own}, which wrote the completions` };
  const options = own ? [writer, ...others] : others;
  return (
    <div>
      Job
      <Combobox
        label="Job"
        options={options}
        placeholder="Choose a job or type its id"
        value={value}
        onChange={onChange}
      />
    </div>
  );
}

function useContinue(round: string) {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: ({ job, steps }: { job: string; steps: number | null }) => continueJob(round, { job, steps }),
    onSuccess: async (job) => {
      void client.invalidateQueries({ queryKey: jobsKey });
      void client.invalidateQueries({ queryKey: roundsKey });
      await navigate(paths.job(job.id));
    },
  });
}
