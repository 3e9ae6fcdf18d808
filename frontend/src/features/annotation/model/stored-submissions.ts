import type { Choice, Submission, Verdict } from "@/features/annotation/model/item";
import type { SubmissionStore } from "@/features/annotation/model/outbox";

const PREFIX = "proximal-answers";

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/**
 * Submissions in the browser's storage, one entry each, so that two tabs do not overwrite each other's entries. `owner` is
 * the API key's id: the rounds of another key are not accessible. If storage is blocked or full, submissions are kept
 * until the page closes.
 */
export function storedSubmissions(
  storage: Store | null,
  owner: string,
  round: string,
  annotator: string,
): SubmissionStore {
  const prefix = `${PREFIX}:${owner}:${round}:${encodeURIComponent(annotator)}:`;
  return {
    load: () =>
      keys(storage, prefix).flatMap((key): [string, Submission][] => {
        const submission = parse(storage?.getItem(key) ?? "");
        return submission ? [[key.slice(prefix.length), submission]] : [];
      }),
    save: (item, submission) => {
      try {
        storage?.setItem(prefix + item, JSON.stringify(submission));
      } catch {
        // The storage is full. The outbox still holds the submission in memory.
      }
    },
    remove: (item) => storage?.removeItem(prefix + item),
  };
}

/** The rounds and annotators with answers that a closed page did not send. */
export function storedSubmitters(storage: Store | null, owner: string): { round: string; annotator: string }[] {
  const prefix = `${PREFIX}:${owner}:`;
  const found = new Set(keys(storage, prefix).map((key) => key.slice(prefix.length, key.lastIndexOf(":"))));
  return [...found].map((submitter) => {
    const colon = submitter.indexOf(":");
    return { round: submitter.slice(0, colon), annotator: decodeURIComponent(submitter.slice(colon + 1)) };
  });
}

function keys(storage: Store | null, prefix: string): string[] {
  const found: string[] = [];
  for (let index = 0; index < (storage?.length ?? 0); index++) {
    const key = storage?.key(index);
    if (key?.startsWith(prefix)) found.push(key);
  }
  return found;
}

/** Storage may hold any text, for example from an older version of the page. */
function parse(text: string): Submission | null {
  try {
    const value: unknown = JSON.parse(text);
    return isSubmission(value) ? value : null;
  } catch {
    return null;
  }
}

function isSubmission(value: unknown): value is Submission {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  if (value.type === "undo") return true;
  return value.type === "answer" && "seconds" in value && "verdict" in value && isVerdict(value.verdict);
}

const CHOICES: readonly Choice[] = ["1", "2", "tie", "skip"];

function isVerdict(value: unknown): value is Verdict {
  if (typeof value !== "object" || value === null) return false;
  if ("ranks" in value) return Array.isArray(value.ranks);
  return "choice" in value && CHOICES.some((choice) => choice === value.choice);
}
