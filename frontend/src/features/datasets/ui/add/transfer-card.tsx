import { Link } from "react-router";
import { Button, buttonClass } from "@/components/button";
import { Announce, ProgressBar } from "@/components/status";
import { type Transfer, transfers, useTransfers } from "@/features/datasets/model/transfers";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { paths } from "@/lib/address";
import { bytes, duration, percent } from "@/lib/format";
import styles from "./add.module.css";
import datasetsStyles from "@/features/datasets/ui/datasets.module.css";

const TONES = { sending: "active", paused: "neutral", failed: "bad", done: "good" } as const;

/** A file on its way: how far it is, and what can be done about it. */
export function TransferCard({ transfer }: { transfer: Transfer }) {
  const { key, file, state, sent, error, uploadId } = transfer;
  const fraction = file.size ? sent / file.size : 0;
  return (
    <li className={styles.transfer} data-transfer={state}>
      <p className={styles.transferName}>
        <b>{file.name}</b> <span>{told(transfer, fraction)}</span>
        <Announce text={`${file.name}: ${stateText(transfer, fraction)}`} />
      </p>
      <div className={styles.buttons}>
        {state === "sending" && <Button onClick={() => transfers.pause(key)}>Pause</Button>}
        {state === "paused" && <Button onClick={() => transfers.resume(key)}>Go on</Button>}
        {state === "failed" && <Button onClick={() => transfers.resume(key)}>Try again</Button>}
        {state === "done" && uploadId ? (
          <Link className={buttonClass("primary")} to={paths.upload(uploadId)} onClick={() => transfers.dismiss(key)}>
            Look at it
          </Link>
        ) : (
          <Button look="quiet" onClick={() => void transfers.cancel(key)} aria-label={`Cancel ${file.name}`}>
            Cancel
          </Button>
        )}
      </div>
      <ProgressBar fraction={state === "done" ? 1 : fraction} label={`Upload of ${file.name}`} tone={TONES[state]} />
      {error && <ProblemLines error={error} title="The upload stopped" />}
    </li>
  );
}

/** Without figures, so that it changes with the state alone. */
function stateText({ state, checking }: Transfer, fraction: number): string {
  if (state !== "sending") return STATES[state];
  if (checking) return "what had arrived before is being checked";
  return fraction >= 1 ? "all sent, its sum is being checked" : "on its way";
}

const STATES = { paused: "paused", failed: "the upload stopped", done: "all here" };

function told({ state, sent, file, rate, checking }: Transfer, fraction: number): string {
  const soFar = `${bytes(sent)} of ${bytes(file.size)}`;
  if (state === "done") return `${bytes(file.size)}, all here`;
  if (state === "paused") return `${soFar}, paused`;
  if (state === "failed") return `${soFar}; what has arrived is kept`;
  if (checking) return `Comparing what had arrived before: ${percent(fraction)}`;
  if (fraction >= 1) return "All sent; its sum is being checked…";
  const left = rate ? `, ${bytes(rate)}/s, ${duration((file.size - sent) / rate)} left` : "";
  return `${percent(fraction)} of ${bytes(file.size)}${left}`;
}

/** Uploads go on while the list is looked at. */
export function OnTheWay() {
  const list = useTransfers();
  if (!list.length) return null;
  return (
    <ul className={`${styles.transfers} ${datasetsStyles.onTheWay}`} aria-label="Uploads">
      {list.map((transfer) => (
        <TransferCard key={transfer.key} transfer={transfer} />
      ))}
    </ul>
  );
}
