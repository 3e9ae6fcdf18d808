import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Button } from "@/components/button";
import { CodeBlock } from "@/components/text";
import { type CreatedKey, createKey, keysQuery, type Scope } from "@/features/settings/api";
import { LONGEST } from "@/lib/api/fields.gen";
import styles from "./settings.module.css";

const SCOPES: Readonly<Record<Scope, string>> = {
  read: "read",
  annotate: "answer rounds",
  submit: "make jobs and datasets",
  manage: "manage keys and members",
};
const DAY = 86_400;
const LIVES = { never: "never", "30": "in 30 days", "90": "in 90 days", "365": "in a year" } as const;
const NEW_KEY = { name: "", scopes: [] as Scope[], life: "never" as keyof typeof LIVES };

/** The form of a new key: its name, end and scopes. */
export function NewKey({ onMade }: { onMade: (key: CreatedKey) => void }) {
  const client = useQueryClient();
  const [wanted, setWanted] = useState(NEW_KEY);
  const create = useMutation({
    mutationFn: createKey,
    onSuccess: (key) => {
      setWanted(NEW_KEY);
      onMade(key);
      void client.invalidateQueries({ queryKey: keysQuery.queryKey });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const { name, scopes, life } = wanted;
    create.mutate({
      name: name.trim(),
      ...(scopes.length > 0 && { scopes }),
      ...(life !== "never" && { expires_at: new Date(Date.now() + Number(life) * DAY * 1000).toISOString() }),
    });
  };
  const toggle = (scope: Scope) =>
    setWanted(({ scopes, ...rest }) => ({
      ...rest,
      scopes: scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope],
    }));
  return (
    <div className={styles.stack}>
      <form className={styles.line} onSubmit={submit}>
        <label>
          <span>Name of a new key</span>
          <input
            type="text"
            value={wanted.name}
            onChange={(event) => setWanted({ ...wanted, name: event.target.value })}
            maxLength={LONGEST.keyName}
            placeholder="training script"
          />
        </label>
        <label>
          <span>Ends</span>
          <select
            value={wanted.life}
            onChange={(event) => setWanted({ ...wanted, life: event.target.value as keyof typeof LIVES })}
          >
            {Object.entries(LIVES).map(([days, words]) => (
              <option key={days} value={days}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <Button type="submit" look="primary" disabled={!wanted.name.trim() || create.isPending}>
          Create key
        </Button>
        <fieldset className={styles.scopes}>
          <legend>Limit the key to (none: all that your role allows)</legend>
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <label key={scope} className={styles.switch}>
              <input type="checkbox" checked={wanted.scopes.includes(scope)} onChange={() => toggle(scope)} />
              {SCOPES[scope]}
            </label>
          ))}
        </fieldset>
      </form>
      {create.isError && (
        <p role="alert" className={styles.problem}>
          {create.error.message}
        </p>
      )}
    </div>
  );
}

/** A key that was just made. Its text cannot be shown again. */
export function MadeKey({ item, onCopied }: { item: CreatedKey; onCopied: () => void }) {
  return (
    <div role="status" className={styles.created}>
      <p>
        <b>Copy the key {item.name} now.</b> The platform stores only its hash and cannot show it again.
      </p>
      <CodeBlock label={item.name} code={item.text} />
      <Button onClick={onCopied}>I have copied it</Button>
    </div>
  );
}
