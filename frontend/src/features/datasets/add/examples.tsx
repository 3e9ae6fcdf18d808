import { KINDS } from "@/features/datasets/kinds";
import styles from "@/features/datasets/add/add.module.css";

/** What a dataset may hold, for somebody who has no file yet. */
export function Examples() {
  return (
    <details className={styles.examples}>
      <summary>What can be in it?</summary>
      <dl>
        {KINDS.map((kind) => (
          <div key={kind.id}>
            <dt>{kind.label}</dt>
            <dd>{kind.use}</dd>
            {kind.examples.map((example) => (
              <dd key={example}>
                <code>{example}</code>
              </dd>
            ))}
          </div>
        ))}
      </dl>
      <p>
        The files of TRL, OpenAI, hh-rlhf, UltraFeedback, HelpSteer, LLaMA-Factory, Axolotl and others are known by
        their columns. For any other you say which column is what.
      </p>
    </details>
  );
}
