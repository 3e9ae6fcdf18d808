/** A job spec as a person writes it: only the fields that are set. */

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const same = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

/** JSON with sorted keys, so that equal values have equal texts. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return value === undefined ? "undefined" : JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

/** The value at a path such as `ppo.kl.coef` or `rewards.0.weight`; undefined where it is not set. */
export function valueAt(spec: Json | undefined, path: string): Json | undefined {
  let found = spec;
  for (const name of path.split(".")) {
    if (Array.isArray(found)) found = found[Number(name)];
    else if (isObject(found)) found = found[name];
    else return undefined;
  }
  return found;
}

const NO_PATHS: ReadonlySet<string> = new Set();

/**
 * The spec with another value at a path. `undefined` removes it, and the sections that are empty then, except for those in
 * `kept`: an empty optional section is one that is turned on.
 */
export function withValue(spec: JsonObject, path: string, value: Json | undefined, kept = NO_PATHS): JsonObject {
  return put(spec, path.split("."), value, kept, "") as JsonObject;
}

function put(
  owner: Json | undefined,
  [name = "", ...rest]: string[],
  value: Json | undefined,
  kept: ReadonlySet<string>,
  above: string,
): Json {
  const path = above ? `${above}.${name}` : name;
  const change = (inner: Json | undefined) => (rest.length ? put(inner, rest, value, kept, path) : value);
  if (Array.isArray(owner)) {
    const list = [...owner];
    const inner = change(list[Number(name)]);
    if (inner === undefined) list.splice(Number(name), 1);
    else list[Number(name)] = inner;
    return list;
  }
  const before = isObject(owner) ? owner : {};
  const inner = change(before[name]);
  const isEmptied = rest.length > 0 && value === undefined && isObject(inner) && !keys(inner) && !kept.has(path);
  if (inner !== undefined && !isEmptied) return { ...before, [name]: inner };
  return Object.fromEntries(Object.entries(before).filter(([other]) => other !== name));
}

/** The spec without an item of a list, and without the list if that was the last one. */
export function withoutListItem(spec: JsonObject, list: string, index: number): JsonObject {
  const items = valueAt(spec, list);
  const rest = Array.isArray(items) ? items.filter((_, other) => other !== index) : [];
  return withValue(spec, list, rest.length ? rest : undefined);
}

const keys = (value: JsonObject): number => Object.keys(value).length;

export interface Difference {
  readonly path: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** The fields with different values, by path; a list is one value. */
export function differences(before: Json | undefined, after: Json | undefined, path = ""): Difference[] {
  if (isObject(before) || isObject(after)) {
    if (!(isObject(before) || before === undefined) || !(isObject(after) || after === undefined))
      return [{ path, before, after }];
    const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
    return names.flatMap((name) => differences(before?.[name], after?.[name], path ? `${path}.${name}` : name));
  }
  return same(before, after) ? [] : [{ path, before, after }];
}

const NULL: JsonObject = { null: true };

/** Whether the value is `{ null = true }`, which stands for null in TOML and in a merge patch. */
export const isNull = (value: unknown): boolean => isObject(value) && keys(value) === 1 && value.null === true;

/** Whether the value is `{ null = [true] }`, `{ null = [[true]] }` and so on. */
function wrapsTrue(value: JsonObject): boolean {
  let inner = keys(value) === 1 ? value.null : undefined;
  const isWrapped = Array.isArray(inner);
  while (Array.isArray(inner) && inner.length === 1) [inner] = inner;
  return isWrapped && inner === true;
}

/** An object that looks like the notation of null is written with its value in one more list. */
export const escaped = (value: JsonObject): JsonObject =>
  isNull(value) || wrapsTrue(value) ? { null: [value.null ?? null] } : value;

/** The value of a TOML file, with null in place of its notation. */
export function withNulls(value: Json): Json {
  if (isNull(value)) return null;
  if (Array.isArray(value)) return value.map(withNulls);
  if (!isObject(value)) return value;
  const plain: JsonObject = wrapsTrue(value) ? { null: (value.null as Json[])[0] ?? null } : value;
  return Object.fromEntries(Object.entries(plain).map(([name, one]) => [name, withNulls(one)]));
}

/** The merge patch that sets this value. Null in a patch restores a default, so it is written as `{"null": true}`. */
function asPatch(value: Json): Json {
  if (value === null) return NULL;
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(escaped(value)).map(([name, one]) => [name, asPatch(one)]));
}

/**
 * The JSON merge patch from `before` to `after`: null for a field that is left out, which restores its default, and
 * `{"null": true}` for one that is null.
 */
export function mergePatch(before: JsonObject, after: JsonObject): JsonObject {
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  const changed = Object.entries(after).filter(([name, value]) => !same(before[name], value));
  return Object.fromEntries([
    ...removed.map((name) => [name, null] as const),
    ...changed.map(([name, value]) => {
      const old = before[name];
      return [name, isObject(old) && isObject(value) ? mergePatch(old, value) : asPatch(value)] as const;
    }),
  ]);
}
