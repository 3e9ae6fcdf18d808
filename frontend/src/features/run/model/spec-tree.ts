/** A value of a spec: a field with a value, or a group of fields. */
export interface SpecNode {
  /** Names from the root, joined by dots. */
  readonly path: string;
  readonly name: string;
  /** Text of the value; null for a group. */
  readonly text: string | null;
  /** Text on the other side of the comparison; null without one. */
  readonly other: string | null;
  /** Number of fields below that differ; 1 or 0 for a field. */
  readonly differing: number;
  /** Number of fields below; 1 for a field. */
  readonly fields: number;
  readonly children: readonly SpecNode[];
}

type Json = unknown;
export const ABSENT = "not set";

/** The tree of a spec. `other`: what it is compared with; undefined without a comparison. */
export function specTree(spec: object, other: object | undefined): SpecNode[] {
  return childrenOf("", spec, other, other !== undefined);
}

function childrenOf(path: string, value: Json, other: Json, isCompared: boolean): SpecNode[] {
  const names = new Set([...Object.keys(entriesOf(value)), ...Object.keys(entriesOf(other))]);
  return [...names].map((name) =>
    nodeOf(path ? `${path}.${name}` : name, name, entriesOf(value)[name], entriesOf(other)[name], isCompared),
  );
}

function nodeOf(path: string, name: string, value: Json, other: Json, isCompared: boolean): SpecNode {
  const isGroup = isBranch(value) || (value === undefined && isBranch(other));
  if (!isGroup) {
    const [text, before] = [textOf(value), textOf(other)];
    const differs = isCompared && text !== before;
    return { path, name, text, other: differs ? before : null, differing: differs ? 1 : 0, fields: 1, children: [] };
  }
  const children = childrenOf(path, value, isBranch(other) ? other : undefined, isCompared);
  return {
    path,
    name,
    text: null,
    other: null,
    differing: sum(children.map((child) => child.differing)),
    fields: sum(children.map((child) => child.fields)),
    children,
  };
}

/** Objects, and lists of objects: they have children. */
function isBranch(value: Json): value is object {
  if (Array.isArray(value)) return value.some((item) => typeof item === "object" && item !== null);
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

const entriesOf = (value: Json): Record<string, Json> => (isBranch(value) ? { ...value } : {});

function textOf(value: Json): string {
  if (value === undefined) return ABSENT;
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

interface TreeFilter {
  /** Text in the path or the value, in any case. */
  readonly text: string;
  readonly differingOnly: boolean;
}

/** The part of the tree with the fields that the filter leaves. */
export function pruned(nodes: readonly SpecNode[], filter: TreeFilter): SpecNode[] {
  const wanted = filter.text.trim().toLowerCase();
  return nodes.flatMap((node) => {
    if (filter.differingOnly && node.differing === 0) return [];
    if (node.text !== null) return `${node.path} ${node.text}`.toLowerCase().includes(wanted) ? [node] : [];
    const isNamed = wanted !== "" && node.path.toLowerCase().includes(wanted);
    const children = pruned(node.children, isNamed ? { ...filter, text: "" } : filter);
    return children.length ? [{ ...node, children }] : [];
  });
}

interface Schema {
  readonly default?: Json;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** The defaults of a JSON schema. A field without a default is left out. */
export function defaultsOf(schema: object): object {
  const root = schema as Schema;
  const resolved = ({ $ref }: Schema) => root.$defs?.[$ref?.split("/").at(-1) ?? ""];
  const objectOf = (one: Schema): object => {
    const found: Record<string, Json> = {};
    for (const [name, field] of Object.entries(one.properties ?? {})) {
      const target = resolved(field);
      if (field.default !== undefined) found[name] = field.default;
      else if (target?.properties) found[name] = objectOf(target);
    }
    return found;
  };
  return objectOf(root);
}
