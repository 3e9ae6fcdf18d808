import { readColumns, type ColumnId } from "@/features/jobs/model/columns";

/** A list with its filters, order and columns, kept under a name. */
export interface View {
  readonly name: string;
  /** The query of the address. */
  readonly query: string;
  readonly columns: readonly ColumnId[];
}

/** Reads stored views. Other entries are left out. */
export function readViews(stored: unknown): readonly View[] {
  if (!Array.isArray(stored)) return [];
  return stored.flatMap((one: unknown) => {
    if (typeof one !== "object" || one === null) return [];
    const { name, query, columns } = one as Record<string, unknown>;
    if (typeof name !== "string" || typeof query !== "string" || !Array.isArray(columns)) return [];
    return [{ name, query, columns: readColumns(columns.join(",")) }];
  });
}

/** The views with one more. It takes the place of a view with the same name. */
export const withView = (views: readonly View[], view: View): readonly View[] => [
  ...views.filter((one) => one.name !== view.name),
  view,
];
