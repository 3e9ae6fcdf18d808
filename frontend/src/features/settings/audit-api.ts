import { infiniteQueryOptions } from "@tanstack/react-query";
import { answer, api } from "@/lib/api/client";
import type { components } from "@/lib/api/schema.gen";
import { NO_VALUE } from "@/lib/format";

export type AuditRow = components["schemas"]["AuditRow"];
export type AuditChange = components["schemas"]["AuditChange"];
type AuditVerification = components["schemas"]["AuditVerification"];

/** The filters of the log, by the names of the API. An absent one does not filter. */
type AuditFilter = Readonly<Partial<Record<(typeof FILTERS)[number], string>>>;

export const FILTERS = ["actor", "action", "object", "since", "until"] as const;

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam }) =>
      answer(api.GET("/v1/audit", { params: { query: { limit: 50, after: pageParam, ...filter } } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.has_more ? page.last_id : null),
    // Each reading of the log is a row of it.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });

export const verifyLog = (): Promise<AuditVerification> => answer(api.GET("/v1/audit/verification"));

/** The address of an export with the filters. */
export const exportAddress = (filter: AuditFilter, format: "jsonl" | "csv"): string =>
  `/v1/audit/export?${new URLSearchParams({ ...filter, format })}`;

/** The first moment of a day in the browser's time zone, as the API takes it; `after`: that of a later day. */
export function startOfDay(day: string, after = 0): string {
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year ?? 0, (month ?? 1) - 1, (date ?? 1) + after).toISOString();
}

/** The filters of an address. Days are whole: `until` includes its day. */
export function filterOf(params: URLSearchParams): AuditFilter {
  const filter: Partial<Record<(typeof FILTERS)[number], string>> = {};
  for (const name of FILTERS) {
    const value = params.get(name)?.trim();
    if (!value) continue;
    const isDay = name === "since" || name === "until";
    if (isDay && !/^\d{4}-\d\d-\d\d$/.test(value)) continue;
    filter[name] = isDay ? startOfDay(value, name === "until" ? 1 : 0) : value;
  }
  return filter;
}

/** The names of the columns that a change has on either side. */
export const columnsOf = ({ before, after }: AuditChange): string[] =>
  [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort();

const READ = /^(compare|download|export|list|verify)_/;

/** The changed columns of a row in a few words. */
export function summaryOf({ action, changes, status }: AuditRow): string {
  if (status === 403) return "refused";
  const [first] = changes;
  if (!first) return READ.test(action) ? "read" : NO_VALUE;
  const more = changes.length > 1 ? ` and ${changes.length - 1} more` : "";
  if (!first.before) return `made ${first.kind}${more}`;
  if (!first.after) return `deleted ${first.kind}${more}`;
  return columnsOf(first).join(", ") + more;
}
