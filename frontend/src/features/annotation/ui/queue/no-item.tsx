import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { ErrorNotice, Notice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import type { QueueView } from "@/features/annotation/model/item";
import { pairCommand } from "@/features/annotation/model/keys";
import type { Queue } from "@/features/annotation/model/queue";
import { useKeys } from "@/features/annotation/ui/queue/shortcuts";
import { paths } from "@/lib/address";
import { count } from "@/lib/format";

interface Props {
  round: string;
  queue: Queue;
  view: QueueView;
  onHelp: () => void;
}

/** Why there is nothing to judge: it is being loaded, or done, or the round is not open. */
export function NoItem(props: Props) {
  const { round, queue, view } = props;
  const { status, error, finished } = view;
  if (status === null || (status === "open" && !finished)) {
    if (!error) return <Skeleton rows={3} height="6rem" label="Loading the next item" />;
    return <ErrorNotice error={error} doing="load the next item" onRetry={queue.refresh} />;
  }
  if (status === "open") return <Finished {...props} />;
  const [title, text] = WORDS[status] ?? [`The round is ${status}`, "There are no items to answer."];
  return (
    <Notice title={title} tone={status === "failed" ? "bad" : "neutral"}>
      <p>{text}</p>
      <Link className={buttonClass()} to={paths.round(round)}>
        To the round
      </Link>
    </Notice>
  );
}

const WORDS: Record<string, readonly [string, string]> = {
  preparing: ["The round is being prepared", "Its items are being made. They appear here when they are ready."],
  paused: ["The round is paused", "Your answers are stored. This page continues when the round is open again."],
  closing: ["The round is being closed", "Its answers are being written into a dataset. Thank you."],
  closed: ["The round is closed", "Its answers have become a dataset. Thank you."],
  failed: ["The round could not be prepared", "The page of the round shows the reason."],
};

function Finished({ round, queue, view, onHelp }: Props) {
  useKeys(pairCommand, (command) => {
    if (command.type === "undo") queue.undo();
    if (command.type === "help") onHelp();
  });
  return (
    <Notice title={view.done > 0 ? "That was the last one" : "There are no items for you"}>
      <p>
        {view.done > 0
          ? `You have answered ${count(view.done, "item")} of this round. Thank you.`
          : "Other annotators have answered or are answering what there is."}{" "}
        Items that become free appear here.
      </p>
      <div style={{ display: "flex", flexWrap: "wrap", gap: "0.5rem" }}>
        <Link className={buttonClass()} to={paths.round(round)}>
          To the round
        </Link>
        {view.canUndo && <Button onClick={queue.undo}>Undo the last answer</Button>}
      </div>
    </Notice>
  );
}
