import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { Button } from "@/components/button";
import { Card, Note } from "@/components/card";
import { LongText } from "@/components/long-text";
import { Notice } from "@/components/notice";
import { Segmented } from "@/components/segmented";
import { Prose } from "@/components/text";
import { promptQuery, samplesQuery } from "@/features/completions/api/samples";
import { addressOf } from "@/features/completions/model/place";
import { type Row, rowKey, scoreText } from "@/features/completions/model/rows";
import { Figures, LONG } from "@/features/completions/ui/completion-card";
import { AddNote, NoteOf } from "@/features/completions/ui/completion-note";
import { CompletionList, Pending } from "@/features/completions/ui/completion-list";
import type { CompletionsTabProps } from "@/features/completions/ui/completions-tab";
import { type Side, sideOf, TwoTexts } from "@/features/completions/ui/beside";
import { useNote } from "@/features/completions/ui/use-note";
import { usePlace } from "@/features/completions/ui/use-place";
import type { JobSample, Sample } from "@/lib/api/types";
import { count } from "@/lib/format";
import { trimmedStart } from "@/lib/visible";
import styles from "./completions.module.css";

/** One prompt over the run: each completion beside the one before it. */
export function PromptView(props: CompletionsTabProps) {
  const { place } = usePlace();
  return place.of === null ? <ChoosePrompt {...props} /> : <OverTime {...props} of={place.of} />;
}

/** The held-out prompts, which every evaluation logs again. */
function ChoosePrompt({ jobId, seed, stage, steps, evaluated, live }: CompletionsTabProps) {
  const { linkTo } = usePlace();
  const step = evaluated.findLast((one) => steps.includes(one)) ?? steps.at(-1) ?? 0;
  const arrived = live(step);
  const query = useQuery({ ...samplesQuery({ jobId, seed, stage }, step), enabled: arrived === undefined });
  const samples = arrived ?? query.data;
  if (!samples) return <Pending query={query} />;
  const rows = samples.map((sample, index) => ({ sample, index }));
  const heldOut = rows.filter(({ sample }) => sample.held_out);
  return (
    <Card title="Choose a prompt to follow">
      <Note>
        <Prose
          text={
            heldOut.length
              ? "These held-out prompts are answered at every evaluation. Any other completion has a link “Same prompt”."
              : "This run logged no held-out prompts. `ppo.log_held_out` sets their number. A training prompt appears as often as it was sampled."
          }
        />
      </Note>
      <ul className={styles.prompts}>
        {(heldOut.length ? heldOut : rows).map(({ sample, index }) => (
          <li key={index}>
            <Link to={linkTo({ of: addressOf(stage, step, index) })}>{short(sample.prompt)}</Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const short = (text: string): string => {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > 160 ? `${line.slice(0, 160)}…` : line || "an empty prompt";
};

const MODES = [
  { id: "previous", label: "Against the step before" },
  { id: "reference", label: "Against the start" },
] as const;

function OverTime({ jobId, seed, stage, of }: CompletionsTabProps & { of: string }) {
  const { place, choose } = usePlace();
  const query = useInfiniteQuery(promptQuery({ jobId, seed, stage }, of));
  if (!query.data) return <Pending query={query} />;
  const found = query.data.pages.flatMap((page) => page.data);
  const [first] = found;
  const total = query.data.pages[0]?.total ?? 0;
  if (!first) return <Notice title="This completion is not in the run">The step may have been run again.</Notice>;
  const against = place.rival === "reference" ? "reference" : "previous";
  return (
    <>
      <Card
        className={styles.asked}
        title="The prompt"
        beside={
          <Button look="quiet" onClick={() => choose({ of: null })}>
            Choose another
          </Button>
        }
      >
        <LongText text={trimmedStart(first.prompt)} limit={LONG} />
        <Note>{count(total, "completion")} of it over the run.</Note>
        <div>
          <Segmented label="Compare" options={MODES} value={against} onChange={(rival) => choose({ rival })} />
        </div>
      </Card>
      <CompletionList
        rows={found.map((sample) => ({ sample, stage, step: sample.step, index: sample.index }))}
        keyOf={rowKey}
        render={(row) => (
          <Moment jobId={jobId} seed={seed} row={row} rival={rivalOf(found, row.step, row.index, against)} />
        )}
      />
      {query.hasNextPage && (
        <Button onClick={() => void query.fetchNextPage()} disabled={query.isFetchingNextPage}>
          Show more of {total}
        </Button>
      )}
    </>
  );
}

/** The completion to compare one with: that of the policy before PPO, or the one before it in the list. */
function rivalOf(
  found: readonly JobSample[],
  step: number,
  index: number,
  against: (typeof MODES)[number]["id"],
): Side | null {
  const at = found.findIndex((one) => one.step === step && one.index === index);
  const [own, before] = [found[at], found[at - 1]];
  if (against === "previous" && before) return sideOf(before.step, before);
  if (typeof own?.reference !== "string") return null;
  const score = scoreText(own.reference_score, own.reference_score_missing);
  return { name: "Before PPO", text: own.reference, score };
}

interface MomentProps {
  jobId: string;
  seed: number | null;
  row: Row;
  rival: Side | null;
}

function Moment({ jobId, seed, row, rival }: MomentProps) {
  const { sample, step } = row;
  const noting = useNote(jobId, seed, row);
  return (
    <article className={styles.moment} aria-label={`Step ${step}`}>
      <div className={styles.head}>
        <Figures sample={sample} />
        <div className={styles.actions}>
          <AddNote noting={noting} />
        </div>
      </div>
      <Texts sample={sample} step={step} rival={rival} />
      <NoteOf noting={noting} />
    </article>
  );
}

function Texts({ sample, step, rival }: { sample: Sample; step: number; rival: Side | null }) {
  if (rival) return <TwoTexts a={rival} b={sideOf(step, sample)} />;
  return (
    <div>
      <p className={styles.who}>
        <b>Step {step}</b>
      </p>
      <LongText text={trimmedStart(sample.response)} limit={LONG} />
    </div>
  );
}
