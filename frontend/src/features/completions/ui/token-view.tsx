import { type KeyboardEvent, type PointerEvent, useId, useRef, useState } from "react";
import { Segmented } from "@/components/segmented";
import {
  colourAt,
  cssColour,
  type Measure,
  measuresIn,
  type Scale,
  scaleOf,
  ticksOf,
} from "@/features/completions/model/token-scale";
import { factsOf, nextToken, tokenLabel, tokenText } from "@/features/completions/model/token-text";
import type { TokenRow } from "@/lib/api/types";
import { measured } from "@/lib/format";
import { useAddress } from "@/lib/address";
import styles from "./tokens.module.css";

interface TokenViewProps {
  table: readonly TokenRow[];
  /** All tables that the scale is made for, so that their colours can be compared. */
  tables: readonly (readonly TokenRow[])[];
}

/** A completion token by token, coloured by one number of each token. */
export function TokenView({ table, tables }: TokenViewProps) {
  const [params, setParams] = useAddress();
  const [at, setAt] = useState(0);
  const measures = measuresIn(tables.length ? tables : [table]);
  const measure = measures.find(({ id }) => id === params.get("colour")) ?? measures[0];
  if (!measure) return <p className={styles.note}>The tokens of this completion have no numbers.</p>;
  const scale = scaleOf(measure, tables.length ? tables : [table]);
  const token = table[Math.min(at, table.length - 1)];
  const choose = (id: Measure["id"]) =>
    setParams((before) => {
      before.set("colour", id);
      return before;
    });
  return (
    <section className={styles.view} aria-label="Token by token">
      <div className={styles.head}>
        <Segmented label="Colour tokens by" options={measures} value={measure.id} onChange={choose} />
        <Legend scale={scale} hasClipped={table.some((one) => one.clipped)} />
      </div>
      <p className={styles.note}>{measure.meaning}</p>
      <div className={styles.body}>
        <Tokens table={table} scale={scale} at={at} onMove={setAt} />
        {token && <Facts token={token} at={at} count={table.length} />}
      </div>
    </section>
  );
}

interface TokensProps {
  table: readonly TokenRow[];
  scale: Scale;
  at: number;
  onMove: (at: number) => void;
}

function Tokens({ table, scale, at, onMove }: TokensProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const walk = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !box.current) return;
    const next = nextToken(event.key, at, table.length, linesAround(box.current, at));
    if (next === null) return;
    event.preventDefault();
    onMove(next);
    box.current.children[next]?.scrollIntoView({ block: "nearest" });
  };
  const point = (event: PointerEvent) => {
    const found = event.target instanceof Element ? event.target.closest("[data-at]") : null;
    if (found) onMove(Number(found.getAttribute("data-at")));
  };
  return (
    <div
      ref={box}
      className={styles.tokens}
      role="listbox"
      aria-label="Tokens. The arrow keys move between them."
      aria-activedescendant={`${id}-${at}`}
      tabIndex={0}
      dir="auto"
      onKeyDown={walk}
      onPointerOver={point}
      onPointerDown={point}
    >
      {table.map((token, index) => (
        <span
          key={index}
          id={`${id}-${index}`}
          data-at={index}
          role="option"
          aria-selected={index === at}
          aria-label={tokenLabel(token, scale.measure)}
          className={`${token.clipped ? styles.clipped : ""} ${token.special ? styles.special : ""}`}
          style={{ backgroundColor: cssColour(colourAt(token[scale.measure.id], scale)) }}
        >
          {tokenText(token.text)}
        </span>
      ))}
    </div>
  );
}

/** The tokens above and below: on the nearest other line, the one that is nearest in its row. */
function linesAround(box: HTMLElement, at: number): { up: number; down: number } {
  const places = [...box.children].map((child) => child.getBoundingClientRect());
  const own = places[at];
  if (!own) return { up: at, down: at };
  const nearest = (isBeyond: (top: number) => boolean, best: (...tops: number[]) => number) => {
    const tops = places.filter(({ top }) => isBeyond(top)).map(({ top }) => top);
    if (!tops.length) return at;
    const line = best(...tops);
    const onLine = places.flatMap(({ top, left }, index) =>
      Math.abs(top - line) < own.height / 2 ? [{ index, gap: Math.abs(left - own.left) }] : [],
    );
    return onLine.reduce((a, b) => (b.gap < a.gap ? b : a)).index;
  };
  return {
    up: nearest((top) => top < own.top - own.height / 2, Math.max),
    down: nearest((top) => top > own.top + own.height / 2, Math.min),
  };
}

function Legend({ scale, hasClipped }: { scale: Scale; hasClipped: boolean }) {
  const { measure, cut } = scale;
  const ticks = ticksOf(scale);
  const last = ticks.length - 1;
  return (
    <div className={styles.legend} role="img" aria-label={legendText(scale)}>
      <div className={styles.ramp}>
        {Array.from({ length: 24 }, (_, index) => {
          const share = (index + 0.5) / 24;
          return <i key={index} style={{ backgroundColor: cssColour(measure.diverging ? 2 * share - 1 : share) }} />;
        })}
      </div>
      <p>
        {ticks.map(({ at, value }, index) => (
          <span key={at}>
            {cut && index === 0 && measure.diverging && "≤ "}
            {cut && index === last && "≥ "}
            {measured(value)}
          </span>
        ))}
      </p>
      {hasClipped && <p className={styles.mark}>Dashed line: clipped</p>}
    </div>
  );
}

function legendText(scale: Scale): string {
  const { measure } = scale;
  const [low, high] = [ticksOf(scale)[0]?.value, ticksOf(scale).at(-1)?.value];
  const unit = measure.unit && ` ${measure.unit}`;
  return measure.diverging
    ? `${measure.label}: blue from ${measured(low)}, no colour at ${measure.middle}, orange to ${measured(high)}${unit}`
    : `${measure.label}: no colour at 0, orange to ${measured(high)}${unit}`;
}

function Facts({ token, at, count }: { token: TokenRow; at: number; count: number }) {
  return (
    <div className={styles.facts}>
      <p>
        <b>{tokenText(token.text).trim() || "empty"}</b>
        <span>
          token {at + 1} of {count}
          {token.special && ", special"}
        </span>
      </p>
      <dl>
        {factsOf(token).map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
