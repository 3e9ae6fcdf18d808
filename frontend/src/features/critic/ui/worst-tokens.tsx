import { Link } from "react-router";
import { Card, Note } from "@/components/card";
import { Table } from "@/components/table";
import type { CriticCard } from "@/features/critic/model/card";
import { measured } from "@/lib/format";
import styles from "./critic.module.css";

interface WorstTokensProps {
  tokens: CriticCard["worst"];
  step: number;
  /** Completions of the step that are logged, from the first response of the batch on. */
  logged: number;
}

/** The tokens on which the critic is most wrong, each in its text. */
export function WorstTokens({ tokens, step, logged }: WorstTokensProps) {
  return (
    <Card title="Where the critic is most wrong">
      <Note>The worst token of each of the responses with the largest errors, largest first.</Note>
      <Table
        label="Worst tokens"
        look="plain"
        className={styles.worst ?? ""}
        head={["Token in its response", "Value", "Return", "Error", "Score", "Response"]}
      >
        {tokens.map(({ response, position, before, text, after, value, returns, score }) => (
          <tr key={response}>
            <th scope="row" dir="auto">
              {before}
              <mark>{shown(text)}</mark>
              {after}
            </th>
            <td>{measured(value)}</td>
            <td>{measured(returns)}</td>
            <td>{measured(value - returns)}</td>
            <td>{measured(score)}</td>
            <td>
              {response < logged ? (
                <Link to={`?tab=completions&stage=ppo&step=${step}&row=${response}`}>{response + 1}</Link>
              ) : (
                response + 1
              )}
              , token {position + 1}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

/** White space that would show nothing, as signs. */
const shown = (text: string): string =>
  text
    .replaceAll("\n", "↵")
    .replaceAll("\t", "⇥")
    .replace(/^ +$/, (all) => "␣".repeat(all.length));
