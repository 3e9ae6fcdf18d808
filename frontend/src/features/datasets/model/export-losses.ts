import { count } from "@/lib/format";

const LOSSES: Readonly<Record<string, (rows: number) => string>> = {
  ties: (rows) => `${count(rows, "tie")} left out`,
  unlabelled: (rows) => `${count(rows, "row")} without a verdict left out`,
  turns: (rows) => `${count(rows, "conversation")} left out: the turns do not alternate`,
  conversations: (rows) => `${count(rows, "conversation")} left out: only texts can be read`,
  rankings: (rows) => `${count(rows, "ranking")} written as pairs`,
  later_turns: (rows) => `${count(rows, "conversation")} cut behind the last answer`,
};

/** The header of an export, such as `ties=2, margin=10`, in words. */
export function lossesOf(header: string): readonly string[] {
  return header
    .split(",")
    .map((pair) => pair.trim().split("="))
    .flatMap(([name, rows]) => (name && rows ? [described(name, Number(rows))] : []));
}

function described(name: string, rows: number): string {
  return LOSSES[name]?.(rows) ?? `${count(rows, "row")} without the ${name}`;
}
