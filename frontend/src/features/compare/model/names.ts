import { jobName } from "@/lib/states";

/** A shared beginning that is shorter stays. */
const LEAST = 12;

/**
 * The names of runs for narrow places. The beginning that a name shares with others is left out: "Sweep of KL 1" and "Sweep
 * of KL 2" become "…1" and "…2". Runs with the same name carry the end of their ids.
 */
export function shortNames(runs: readonly { readonly id: string; readonly name: string }[]): string[] {
  const full = runs.map((run) => {
    const name = jobName(run);
    return runs.filter((one) => one.name === run.name).length > 1 ? `${name} (${run.id.slice(-6)})` : name;
  });
  const short = full.map((name, index) => {
    const shared = full.filter((_, other) => other !== index).map((other) => sharedStart(name, other).length);
    const cuts = shared.filter((length) => length >= LEAST);
    return cuts.length ? `…${name.slice(Math.min(...cuts))}` : name;
  });
  return short.map((name, index) => (short.indexOf(name) === short.lastIndexOf(name) ? name : (full[index] ?? name)));
}

/** The whole words with which both texts begin. */
function sharedStart(a: string, b: string): string {
  const [words, others] = [wordsOf(a), wordsOf(b)];
  const end = words.findIndex((word, index) => word !== others[index]);
  return words.slice(0, end < 0 ? -1 : end).join("");
}

/** Each word ends with its separator. */
const wordsOf = (text: string): string[] => text.split(/(?<=[\s:,;_/=-])/);
