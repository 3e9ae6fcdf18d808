import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ConfirmButton } from "@/components/confirm-button";
import { Time, TimeAgo } from "@/components/text";
import { type CreatedKey, type Key, keysQuery, revokeKey, rotateKey, validKeysMadeBy } from "@/features/settings/api";
import { absolute } from "@/lib/format";
import styles from "./settings.module.css";

interface KeyRowProps {
  item: Key;
  keys: readonly Key[];
  /** When the keys were read. */
  now: number;
  onMade: (key: CreatedKey) => void;
}

/** A key, with the buttons that replace and revoke it. */
export function KeyRow({ item, keys, now, onMade }: KeyRowProps) {
  const hasEnded = item.expires_at !== null && Date.parse(item.expires_at) <= now;
  const maker = keys.find((key) => key.id === item.made_by);
  return (
    <tr data-key={item.id} className={item.revoked_at ? styles.revoked : ""}>
      <th scope="row">
        {item.name} {item.operator && <small className={styles.tag}>operator</small>}
        {item.scopes && <small className={styles.tag}>{item.scopes.join(", ")}</small>}
        {item.expires_at && (
          <small className={styles.maker}>
            {hasEnded ? "ended" : "ends"} <Time at={item.expires_at}>{absolute(item.expires_at)}</Time>
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
        ) : (
          <div className={styles.actions}>
            {item.current && <span>In use by this browser</span>}
            {!hasEnded && <Rotate item={item} onMade={onMade} />}
            {!item.current && <Revoke item={item} made={validKeysMadeBy(item.id, keys)} />}
          </div>
        )}
      </td>
    </tr>
  );
}

const DAY = 86_400;
const OVERLAPS = [
  { seconds: DAY, words: "a day" },
  { seconds: 7 * DAY, words: "a week" },
  { seconds: 0, words: "not at all" },
] as const;

function Rotate({ item, onMade }: { item: Key; onMade: (key: CreatedKey) => void }) {
  const client = useQueryClient();
  const [overlap, setOverlap] = useState<number>(DAY);
  return (
    <ConfirmButton
      button="Rotate"
      label={`Rotate ${item.name}`}
      title={`Replace ${item.name} by a new key?`}
      confirm="Make a new key"
      keep="Keep it"
      action={async () => {
        onMade(await rotateKey(item.id, overlap));
        await client.invalidateQueries({ queryKey: keysQuery.queryKey });
      }}
    >
      <p>The new key has the same name, member and rights. Change your programs to it while both are valid.</p>
      <p>
        <label className={styles.switch}>
          The old key stays valid for
          <select value={overlap} onChange={(event) => setOverlap(Number(event.target.value))}>
            {OVERLAPS.map(({ seconds, words }) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </p>
      {item.current && overlap === 0 && <p>This browser signed in with it, and is signed out then.</p>}
    </ConfirmButton>
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
