import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { Button } from "@/components/button";
import { Notice } from "@/components/notice";
import { CodeBlock } from "@/components/text";
import { type Demo, demoQuery, loadSamples, runDemo } from "@/features/jobs/demo";
import { paths } from "@/lib/address";
import styles from "./jobs.module.css";

const submit = (origin: string) => `curl ${origin}/v1/jobs \\
  -H "Authorization: Bearer $PROXIMAL_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "first run", "model": "sshleifer/tiny-gpt2",
       "data": {"preferences": "ds_…"}}'`;

/** The jobs page before there is a job. */
export function FirstJob() {
  const demo = useQuery(demoQuery);
  return (
    <Notice title="No jobs yet">
      <p>
        A job takes a language model through supervised fine-tuning, a reward model and PPO, or any of these, DPO and
        KTO alone, and ends with a comparison on held-out prompts. You watch it here while it runs.
      </p>
      {demo.data && <Samples demo={demo.data} />}
      <p>
        For one of your own, <Link to={paths.newDataset}>upload preference data</Link> and{" "}
        <Link to={paths.newJob()}>fill in the form of a new job</Link>, or submit one that names it over REST. The model
        is a Hugging Face id, a checkpoint of an earlier job or a folder on the worker. All other fields have defaults.
      </p>
      <CodeBlock label="Submit a job" code={submit(window.location.origin)} />
    </Notice>
  );
}

/** The demo, and its datasets alone. */
function Samples({ demo }: { demo: Demo }) {
  const navigate = useNavigate();
  const [progress, setProgress] = useState("");
  const run = useMutation({ mutationFn: () => runDemo(demo, setProgress) });
  const load = useMutation({ mutationFn: () => loadSamples(setProgress) });
  const isBusy = run.isPending || load.isPending;
  const error = run.error ?? load.error;
  const start = (action: "run" | "load") => {
    setProgress("");
    run.reset();
    load.reset();
    if (action === "load") load.mutate();
    else run.mutate(undefined, { onSuccess: (id) => void navigate(paths.job(id)) });
  };
  return (
    <>
      <p>
        To see one at once, run the demo: a small model learns to write film reviews, on a CPU, in about three minutes.
        The sample data alone is for trying out the form of a new job.
      </p>
      <div className={styles.start}>
        <Button look="primary" disabled={isBusy} onClick={() => start("run")}>
          Run the demo
        </Button>
        <Button disabled={isBusy} onClick={() => start("load")}>
          Load sample data
        </Button>
      </div>
      <p role="status">
        {isBusy && `Loading the sample data… ${progress}`}
        {load.isSuccess && (
          <>
            The sample data is loaded: <Link to={paths.datasets}>three datasets</Link> of film reviews.{" "}
            <Link to={paths.newJob({ dataset: load.data.preferences })}>Make a job with them</Link>
          </>
        )}
      </p>
      {error && (
        <p role="alert" className={styles.failed}>
          {run.error ? "The demo was not started" : "The sample data was not loaded"}: {error.message}
        </p>
      )}
    </>
  );
}
