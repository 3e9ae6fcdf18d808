import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Button } from "@/components/button";
import { ConfirmButton } from "@/components/confirm-button";
import { ErrorNotice } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { Table } from "@/components/table";
import { CodeBlock, TimeAgo } from "@/components/text";
import { createKey, type Key, keysQuery, revokeKey, validKeysMadeBy } from "@/features/settings/api";
import { LONGEST } from "@/lib/api/fields.gen";
import styles from "./settings.module.css";

/** The caller's API keys: create one, revoke one. */
export function KeysTab() {
  const query = useQuery(keysQuery);
  if (query.isPending) return <Skeleton rows={3} height="2.75rem" label="Loading keys" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="load the keys" onRetry={() => void query.refetch()} />;
  }
  return (
    <div className={styles.stack}>
      <p className={styles.note}>
        A key allows what the role of its member allows, or less if it has scopes. Give each machine or script a key of
        its own, so that you can revoke one without the others.
      </p>
      <NewKey />
      <Table label="API keys" head={["Name", "Begins with", "Created", "Last used", "State"]}>
        {query.data.map((key) => (
          <KeyRow key={key.id} item={key} keys={query.data} />
        ))}
      </Table>
    </div>
  );
}

function NewKey() {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: createKey,
    onSuccess: () => {
      setName("");
      void client.invalidateQueries({ queryKey: keysQuery.queryKey });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate(name.trim());
  };
  return (
    <div className={styles.stack}>
      <form className={styles.line} onSubmit={submit}>
        <label>
          <span>Name of a new key</span>
          <input
            type="text"
            value={name}
            onChange={(event) => setName(event.target.value)}
            maxLength={LONGEST.keyName}
            placeholder="training script"
          />
        </label>
        <Button type="submit" look="primary" disabled={!name.trim() || create.isPending}>
          Create key
        </Button>
      </form>
      {create.isError && (
        <p role="alert" className={styles.problem}>
          {create.error.message}
        </p>
      )}
      {create.data && (
        <div role="status" className={styles.created}>
          <p>
            <b>Copy the key {create.data.name} now.</b> The platform stores only its hash and cannot show it again.
          </p>
          <CodeBlock label={create.data.name} code={create.data.text} />
          <Button onClick={() => create.reset()}>I have copied it</Button>
        </div>
      )}
    </div>
  );
}

function KeyRow({ item, keys }: { item: Key; keys: readonly Key[] }) {
  const maker = keys.find((key) => key.id === item.made_by);
  return (
    <tr data-key={item.id} className={item.revoked_at ? styles.revoked : ""}>
      <th scope="row">
        {item.name} {item.operator && <small className={styles.tag}>operator</small>}
        {item.scopes && <small className={styles.tag}>{item.scopes.join(", ")}</small>}
        {item.expires_at && (
          <small className={styles.maker}>
            ends <TimeAgo time={item.expires_at} />
          </small>
        )}
        {maker && (
          <small className={styles.maker}>
            made with {maker.name}
            {maker.revoked_at && ", which is revoked"}
          </small>
        )}
      </th>
      <td data-label="Begins with">
        <code>{item.prefix}</code>
      </td>
      <td data-label="Created">
        <TimeAgo time={item.created_at} />
      </td>
      <td data-label="Last used">{item.last_used_at ? <TimeAgo time={item.last_used_at} /> : "never"}</td>
      <td data-label="State">
        {item.revoked_at ? (
          <>
            Revoked <TimeAgo time={item.revoked_at} />
          </>
        ) : item.current ? (
          "In use by this browser"
        ) : (
          <Revoke item={item} made={validKeysMadeBy(item.id, keys)} />
        )}
      </td>
    </tr>
  );
}

function Revoke({ item, made }: { item: Key; made: readonly Key[] }) {
  const client = useQueryClient();
  const [andMade, setAndMade] = useState(false);
  const includesOwn = made.some((key) => key.current);
  return (
    <ConfirmButton
      button="Revoke"
      label={`Revoke ${item.name}`}
      title={`Revoke ${item.name}?`}
      confirm="Revoke"
      keep="Keep it"
      action={async () => {
        await revokeKey(item.id, andMade);
        await client.invalidateQueries({ queryKey: keysQuery.queryKey });
      }}
      done={`The key ${item.name} is revoked.`}
    >
      <p>
        Programs that use this key are refused from now on, and browsers that signed in with it are signed out. Jobs and
        data stay. A revoked key cannot be restored.
      </p>
      {made.length > 0 && (
        <>
          <p>
            Keys that were made with it stay valid: <b>{made.map((key) => key.name).join(", ")}</b>. Revoke them too if
            a stranger had this key.
          </p>
          <p>
            <label className={styles.switch}>
              <input
                type="checkbox"
                checked={andMade}
                disabled={includesOwn}
                onChange={(event) => setAndMade(event.target.checked)}
              />
              Revoke the keys that were made with it
            </label>
          </p>
          {includesOwn && <p>This browser uses one of them. Sign in with another key to revoke them together.</p>}
        </>
      )}
    </ConfirmButton>
  );
}
