import { useMutation, useQuery } from "@tanstack/react-query";
import { type SyntheticEvent, useId, useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { uploadFromUrl, uploadLimitsQuery } from "@/features/datasets/api/imports";
import { ProblemLines } from "@/features/datasets/ui/problem-lines";
import { paths } from "@/lib/paths";
import styles from "./add.module.css";

const ANYWHERE = ["https://…", "s3://bucket/key", "hf://datasets/owner/name"];

/** Fetching by the server itself, where the operator allows it. */
export function FromUrl() {
  const limits = useQuery(uploadLimitsQuery);
  const id = useId();
  const navigate = useNavigate();
  const [url, setUrl] = useState("");
  const fetching = useMutation({
    mutationFn: uploadFromUrl,
    onSuccess: (upload) => navigate(paths.upload(upload.id)),
  });
  if (!limits.data) return null;
  const { import_urls: allowed, import_prefixes: prefixes } = limits.data;
  if (allowed === "none") {
    return (
      <p className={styles.hint}>
        Fetching from a URL is switched off here. The operator can allow it with <code>PROXIMAL_IMPORT_URLS</code>.
      </p>
    );
  }
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (url.trim()) fetching.mutate(url.trim());
  };
  return (
    <form className={styles.fromUrl} onSubmit={submit}>
      <label htmlFor={id}>Or have the server fetch it</label>
      <div>
        <input
          id={id}
          type="text"
          inputMode="url"
          spellCheck={false}
          autoCapitalize="off"
          placeholder={(allowed === "some" ? prefixes : ANYWHERE).join("  ")}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <Button type="submit" disabled={!url.trim() || fetching.isPending}>
          {fetching.isPending ? "Asking…" : "Fetch"}
        </Button>
      </div>
      {fetching.error && <ProblemLines error={fetching.error} title="Not fetched" />}
    </form>
  );
}
