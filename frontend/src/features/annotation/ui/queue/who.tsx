import { type SyntheticEvent, useState } from "react";
import { Button } from "@/components/button";
import { asName } from "@/features/annotation/model/name";
import styles from "./queue.module.css";

interface Props {
  name: string | null;
  onName: (name: string) => void;
}

/** Asked once in this browser: answers are kept by the annotator's name. */
export function Who({ name, onName }: Props) {
  const [typed, setTyped] = useState(name ?? "");
  const valid = asName(typed);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (valid) onName(valid);
  };
  return (
    <form className={styles.who} onSubmit={submit}>
      <h1>Who are you?</h1>
      <p>
        Your answers are kept under this name, so that agreement between people can be measured. Use the same one every
        time. This browser remembers it.
      </p>
      <div>
        <input
          type="text"
          aria-label="Your name"
          placeholder="Your name"
          autoComplete="nickname"
          maxLength={60}
          autoFocus
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <Button type="submit" look="primary" disabled={!valid}>
          Start
        </Button>
      </div>
    </form>
  );
}
