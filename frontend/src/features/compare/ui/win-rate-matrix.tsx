import { useQueries } from "@tanstack/react-query";
import { Table } from "@/components/table";
import { evaluationQuery } from "@/features/compare/api";
import { winRates } from "@/features/compare/model/win-rates";
import { RunName, type RunsProps } from "@/features/compare/ui/tables";
import { NO_VALUE, percent } from "@/lib/format";
import styles from "./compare.module.css";

/** Judged runs against each other, on the prompts that they share. Nothing is shown without two of them. */
export function WinRateMatrix({ jobs, lookOf }: RunsProps) {
  const found = jobs.filter(({ summary }) => summary?.judge_after !== undefined);
  const judged = found.length < 2 ? [] : found;
  const queries = useQueries({ queries: judged.map(evaluationQuery) });
  if (!judged.length || queries.some(({ data }) => !data)) return null;
  const rates = winRates(queries.map(({ data }) => data ?? []));
  const prompts = Math.max(0, ...rates.flat().map((rate) => rate?.prompts ?? 0));
  if (!prompts) return null;
  const heads = judged.map((job) => (
    <th scope="col" key={job.id}>
      <RunName job={job} {...lookOf(job.id)} />
    </th>
  ));
  return (
    <section aria-label="Win rates between the runs">
      <h2>Win rates between the runs</h2>
      <p className={styles.note}>
        Share of the prompts on which the run of the row is judged better than the run of the column. A tie counts half.
        Compare runs with the same judge only. At most {prompts} prompts are shared.
        {judged.some(({ seeds }) => seeds.length) &&
          " The completions of a run with several seeds are those of its best."}
      </p>
      <Table label="Win rates" look="plain" sticky head={["Run", ...heads]} className={styles.matrix}>
        {judged.map((job, row) => (
          <tr key={job.id}>
            <th scope="row">
              <RunName job={job} {...lookOf(job.id)} />
            </th>
            {rates[row]?.map((rate, column) => (
              <td
                key={judged[column]?.id}
                style={rate ? { background: shade(rate.share) } : undefined}
                title={rate ? `${rate.prompts} prompts` : undefined}
              >
                {rate ? percent(rate.share) : NO_VALUE}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </section>
  );
}

/** Green above one half, red below; the further, the stronger. */
const shade = (share: number): string =>
  `color-mix(in srgb, var(--${share >= 0.5 ? "good" : "bad"}-soft) ${Math.round(Math.abs(share - 0.5) * 200)}%, transparent)`;
