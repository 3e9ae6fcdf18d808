import { useEffect, useRef, useState } from "react";
import { Link } from "react-router";
import { Button } from "@/components/button";
import { ProgressBar } from "@/components/status";
import { inWords, type QueueView } from "@/features/annotation/model/item";
import { Judge } from "@/features/annotation/ui/queue/judge";
import { NoItem } from "@/features/annotation/ui/queue/no-item";
import { Sending } from "@/features/annotation/ui/queue/sending";
import { KeysHelp } from "@/features/annotation/ui/queue/shortcuts";
import { useQueue } from "@/features/annotation/ui/queue/use-queue";
import { paths } from "@/lib/address";
import type { Round } from "@/lib/api/types";
import { Instructions } from "@/features/annotation/ui/instructions";
import styles from "./queue.module.css";

interface Props {
  round: Round;
  annotator: string;
  onOther: () => void;
}

const BAR = "[role=group]";
const PROMPT = "section[aria-label=Prompt]";
const TOO_SOON = "not answered: the same key came as this appeared. Press it again";

/** Where one annotator works. */
export function Desk({ round, annotator, onOther }: Props) {
  const { queue, view, outbox, sending } = useQueue(round.id, annotator);
  const [helping, setHelping] = useState(false);
  const { item, showing } = view;
  const desk = useRef<HTMLDivElement>(null);
  const fromBar = useRef(false);
  /** A pressed button disappears with its item. The focus then moves to the next prompt, not to the top of the page. */
  const leaving = () => {
    fromBar.current = document.activeElement?.closest(BAR) != null;
  };
  useEffect(() => {
    // In braces: newer browsers return a promise, which React would take for a clean-up.
    window.scrollTo({ top: 0 });
    if (fromBar.current) desk.current?.querySelector<HTMLElement>(PROMPT)?.focus({ preventScroll: true });
    fromBar.current = false;
  }, [showing]);
  return (
    <div ref={desk} className={styles.desk} data-showing={showing}>
      <h1 className="visually-hidden">Annotate {round.name}</h1>
      <header className={styles.head}>
        <nav aria-label="Breadcrumb">
          <Link to={paths.round(round.id)}>{round.name}</Link>
        </nav>
        <span className={styles.me}>
          {annotator}
          <Button look="quiet" onClick={onOther} aria-label={`You are ${annotator}. Change the name`}>
            change
          </Button>
          <Button look="quiet" onClick={() => setHelping(true)} aria-label="Show the keys" aria-keyshortcuts="?">
            <kbd aria-hidden>?</kbd> Keys
          </Button>
        </span>
        <Progress view={view} waiting={sending.waiting} />
      </header>
      <Sending sending={sending} onRetry={outbox.retry} onDismiss={outbox.dismiss} />
      {item && round.instructions && <Instructions text={round.instructions} className={styles.instructions} open />}
      {item ? (
        <Judge
          key={showing}
          item={item}
          onAnswer={(verdict) => {
            leaving();
            queue.answer(verdict);
          }}
          onUndo={() => {
            leaving();
            queue.undo();
          }}
          onHelp={() => setHelping(true)}
          canUndo={view.canUndo}
        />
      ) : (
        <NoItem round={round.id} queue={queue} view={view} onHelp={() => setHelping(true)} />
      )}
      <KeysHelp open={helping} ranking={round.kind === "ranking"} onClose={() => setHelping(false)} />
    </div>
  );
}

function Progress({ view, waiting }: { view: QueueView; waiting: number }) {
  const { item, done, total, last, bounced } = view;
  const previous = item?.previous ? `taken back: ${inWords(item.previous)}` : null;
  const said = previous ?? (last && `last answer: ${inWords(last.verdict)}`);
  return (
    <div className={styles.progress}>
      <p>
        <span data-waiting={waiting}>{total > 0 && `${done} of ${total} answered`}</span>
        <span role="status">
          {bounced ? TOO_SOON : said}
          {/* Two equal answers would be announced as one. */}
          {!bounced && said && <span className="visually-hidden">, {done} answered</span>}
        </span>
      </p>
      <ProgressBar
        fraction={total ? done / total : 0}
        label="Your answers"
        tone={total > 0 && done === total ? "good" : "active"}
      />
    </div>
  );
}
