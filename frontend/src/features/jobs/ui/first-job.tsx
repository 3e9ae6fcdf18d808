import { Link } from "react-router";
import { CodeBlock } from "@/components/code-block";
import { Notice } from "@/components/notice";
import { paths } from "@/lib/paths";

const submit = (origin: string) => `curl ${origin}/v1/jobs \\
  -H "Authorization: Bearer $PROXIMAL_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "first run", "model": "sshleifer/tiny-gpt2",
       "data": {"preferences": "ds_…"}}'`;

/** The jobs page before there is a job. */
export function FirstJob() {
  return (
    <Notice title="No jobs yet">
      <p>
        A job takes a language model through supervised fine-tuning, a reward model and PPO, or any of these, DPO and
        KTO alone, and ends with a comparison on held-out prompts. You watch it here while it runs.
      </p>
      <p>
        To see one at once, run <code>make demo</code> in a terminal: a small model, a CPU, about three minutes.
      </p>
      <p>
        For one of your own, <Link to={paths.datasets}>upload preference data</Link> and submit a job that names it. The
        model is a Hugging Face id, a checkpoint of an earlier job or a folder on the worker; whatever else you leave
        out has a default.
      </p>
      <CodeBlock label="Submit a job" code={submit(window.location.origin)} />
    </Notice>
  );
}
