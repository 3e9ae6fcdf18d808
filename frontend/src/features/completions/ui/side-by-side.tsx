import { useMemo } from "react";
import { LongText } from "@/components/long-text";
import { Segmented } from "@/components/segmented";
import { SearchBox } from "@/components/search-box";
import { matching, type Row, rowKey, rowsOf, scoreText, winner } from "@/features/completions/model/rows";
import { Answer, Answers } from "@/features/completions/ui/answers";
import { LONG } from "@/features/completions/ui/completion-card";
import { AddNote, NoteOf } from "@/features/completions/ui/completion-note";
import { CompletionList } from "@/features/completions/ui/completion-list";
import { useNote } from "@/features/completions/ui/use-note";
import { usePlace } from "@/features/completions/ui/use-place";
import type { Sample } from "@/lib/api/types";
import { useAddress } from "@/lib/address";
import { fixed } from "@/lib/format";
import { diffTexts, type Part } from "@/lib/text-diff";
import list from "./completions.module.css";
import styles from "./side-by-side.module.css";

export interface Sides {
  readonly before: string;
  readonly after: string;
}

interface Props {
  jobId: string;
  seed: number | null;
  step: number;
  rows: readonly Sample[];
  sides: Sides;
  judged: boolean;
}

const ALL = { id: "all", label: "All" } as const;

/** The evaluation: for each prompt the answers of both policies, and which was judged better. */
export function SideBySide({ jobId, seed, step, rows: samples, sides, judged }: Props) {
  const { place, choose } = usePlace();
  const [params, setParams] = useAddress();
  const rows = useMemo(() => rowsOf(samples, "evaluation", step), [samples, step]);
  const options = [
    ALL,
    { id: "after", label: `${sides.after} better` },
    { id: "before", label: `${sides.before} better` },
    { id: "tie", label: "Even" },
  ] as const;
  const better = options.find(({ id }) => id === params.get("better"))?.id ?? "all";
  const marked = params.get("diff") === "1";
  const set = (name: string, value: string | null) =>
    setParams((before) => {
      if (value === null) before.delete(name);
      else before.set(name, value);
      return before;
    });
  const won = (row: Row) => winner(row.sample, judged);
  const shown = matching(rows, place).filter((row) => better === "all" || won(row) === better);
  return (
    <>
      <div className={`${list.controls} ${styles.controls}`} role="search" aria-label="Which prompts">
        <SearchBox
          value={place.search}
          onSearch={(search) => choose({ search })}
          label="Search prompts and responses"
          placeholder="Search prompts and responses"
        />
        {rows.some((row) => won(row) !== null) && (
          <Segmented
            label="Which was better"
            options={options}
            value={better}
            onChange={(id) => set("better", id === "all" ? null : id)}
          />
        )}
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={marked}
            onChange={(event) => set("diff", event.target.checked ? "1" : null)}
          />
          Mark differences
        </label>
      </div>
      <p className={styles.tally} role="status">
        {tally(samples, sides, judged)}
        {shown.length < rows.length && ` ${shown.length} shown.`}
      </p>
      <CompletionList
        rows={shown}
        keyOf={rowKey}
        render={(row) => <Pair {...{ jobId, seed, row, sides, judged, marked }} />}
      />
    </>
  );
}

function tally(rows: readonly Sample[], { before, after }: Sides, judged: boolean): string {
  const won = rows.map((row) => winner(row, judged));
  if (won.every((one) => one === null)) return `${rows.length} prompts.`;
  const count = (side: ReturnType<typeof winner>) => won.filter((one) => one === side).length;
  const open = count(null);
  return `${rows.length} prompts: ${after} better on ${count("after")}, ${before} better on ${count("before")}, even on ${count("tie")}${open ? `, without a value on ${open}` : ""}.`;
}

interface PairProps {
  jobId: string;
  seed: number | null;
  row: Row;
  sides: Sides;
  judged: boolean;
  marked: boolean;
}

function Pair({ jobId, seed, row, sides, judged, marked }: PairProps) {
  const { sample } = row;
  const noting = useNote(jobId, seed, row);
  const better = winner(sample, judged);
  const reference = sample.reference ?? "";
  const diff = useMemo(
    () => (marked ? diffTexts(reference, sample.response) : null),
    [marked, reference, sample.response],
  );
  return (
    <Answers
      prompt={sample.prompt}
      columns={2}
      actions={<AddNote noting={noting} />}
      foot={(noting.note ?? noting.draft) && <NoteOf noting={noting} />}
    >
      <Side
        name={sides.before}
        better={better === "before"}
        text={reference}
        parts={diff?.a ?? null}
        score={scoreText(sample.reference_score, sample.reference_score_missing)}
        judge={scoreText(sample.reference_judge, sample.reference_judge_missing)}
      />
      <Side
        name={sides.after}
        better={better === "after"}
        text={sample.response}
        parts={diff?.b ?? null}
        score={scoreText(sample.score, sample.score_missing)}
        judge={scoreText(sample.judge, sample.judge_missing)}
        kl={sample.kl}
      />
    </Answers>
  );
}

interface SideProps {
  name: string;
  better: boolean;
  text: string;
  parts: readonly Part[] | null;
  score: string | null;
  judge: string | null;
  kl?: number | null | undefined;
}

function Side({ name, better, text, parts, score, judge, kl }: SideProps) {
  const who = (
    <>
      <b>{name}</b>
      {better && <span className={styles.mark}>better</span>}
      <span className={styles.scores}>
        {judge !== null && <span>judge {judge}</span>}
        {score !== null && <span>score {score}</span>}
        {typeof kl === "number" && <span>KL {fixed(kl)}</span>}
      </span>
    </>
  );
  return (
    <Answer who={who} better={better}>
      <LongText text={text} parts={parts} limit={LONG} />
    </Answer>
  );
}
