import { queryOptions } from "@tanstack/react-query";
import { allPages, answer, api, MOST } from "@/lib/api/client";
import type { DatasetKind } from "@/lib/api/types";

/** Which column is what: of each field a column, and of each value of the label a side. */
export type Mapping = {
  readonly fields: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string | number | null>>;
};

/** The API's mapping, which its schema types as any object; null where it has another form. */
export const asMapping = (told: Readonly<Record<string, unknown>> | null): Mapping | null =>
  told && typeof told.fields === "object" && told.fields !== null ? (told as Mapping) : null;

export const uploadsKey = ["uploads"] as const;

/** Uploads that have not become a dataset. */
export const uploadsQuery = queryOptions({
  queryKey: [...uploadsKey, "list"],
  queryFn: () => allPages((after) => answer(api.GET("/v1/uploads", { params: { query: { limit: MOST, after } } }))),
});

export const uploadQuery = (id: string) =>
  queryOptions({
    queryKey: [...uploadsKey, id],
    queryFn: () => answer(api.GET("/v1/uploads/{upload_id}", { params: { path: { upload_id: id } } })),
  });

/** The operator's limits for uploads. */
export const uploadLimitsQuery = queryOptions({
  queryKey: ["reference", "uploads"],
  queryFn: () => answer(api.GET("/v1/reference/uploads")),
  staleTime: Infinity,
});

export const formatsQuery = queryOptions({
  queryKey: ["reference", "formats"],
  queryFn: async () => (await answer(api.GET("/v1/reference/formats"))).data,
  staleTime: Infinity,
});

export const uploadFromUrl = (url: string) => answer(api.POST("/v1/uploads/from", { body: { url } }));

/** How a file is to be read; what is null is detected. */
export interface Reading {
  readonly format: string | null;
  readonly kind: DatasetKind | null;
  readonly mapping: Mapping | null;
  /** Text encoding of the file. */
  readonly encoding: string | null;
  /** Columns that are not used and not asked about. */
  readonly ignore: string[];
}

/** The file's first rows, read as asked. The same file read in the same way shows the same. */
export const previewQuery = (id: string, reading: Reading) =>
  queryOptions({
    queryKey: [...uploadsKey, id, "preview", reading],
    queryFn: () =>
      answer(api.POST("/v1/uploads/{upload_id}/preview", { params: { path: { upload_id: id } }, body: reading })),
    staleTime: Infinity,
  });

export interface ImportWanted extends Reading {
  readonly upload: string;
  readonly name: string;
  readonly bad_rows: "refuse" | "report" | "leave_out";
}

export const importUpload = (wanted: ImportWanted) => answer(api.POST("/v1/datasets", { body: wanted }));
