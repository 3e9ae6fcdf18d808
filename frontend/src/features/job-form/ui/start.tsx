import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { Dialog } from "@/components/dialog";
import { MenuButton, type MenuEntry } from "@/components/menu";
import { presetsQuery, templatesQuery } from "@/features/job-form/api";
import type { Problem } from "@/features/job-form/model/problems";
import { Blocked } from "@/features/job-form/ui/problem-list";
import { TemplateForm } from "@/features/job-form/ui/template-form";
import { UploadFiles } from "@/features/job-form/ui/upload-files";
import { localFiles } from "@/features/job-form/model/local-files";
import { readSpec } from "@/features/job-form/model/exchange";
import { type JsonObject, withValue } from "@/features/job-form/model/spec";
import { paths } from "@/lib/address";
import styles from "./form.module.css";

interface StartProps {
  /** The spec that a template gets. */
  spec: JsonObject;
  /** The fields that cannot be read. No template can be made with them. */
  unreadable: readonly Problem[];
  /** Takes a spec into the form. */
  onSpec: (spec: JsonObject, from: string) => void;
  /** Further buttons. */
  children?: ReactNode;
}

/** Recipes and templates to start from, the import of a file, and the present spec as a template. */
export function Start({ spec, unreadable, onSpec, children }: StartProps) {
  const presets = useQuery(presetsQuery);
  const templates = useQuery(templatesQuery);
  const [importing, setImporting] = useState(false);
  const [saving, setSaving] = useState(false);
  const recipes = (presets.data ?? []).map(({ title, spec, replace }) => ({
    label: title,
    // Its placeholders stand where the user's own model and datasets belong.
    onSelect: () =>
      onSpec(
        replace.reduce((made, path) => withValue(made, path, undefined), spec as JsonObject),
        title,
      ),
  }));
  const own = (templates.data ?? []).map((template, index) => ({
    label: template.name,
    group: index === 0,
    onSelect: () => onSpec(template.spec as JsonObject, template.name),
  }));
  const entries: MenuEntry[] = [
    ...recipes,
    ...own,
    { label: "Save as template…", group: true, onSelect: () => setSaving(true) },
    ...(own.length ? [{ label: "Manage templates", to: paths.templates }] : []),
  ];
  return (
    <>
      {entries.length > 0 && <MenuButton label="Templates" button="Templates ▾" entries={entries} />}
      <Button onClick={() => setImporting(true)}>Import…</Button>
      {children}
      <Dialog open={saving} title="Save as template" onClose={() => setSaving(false)}>
        {unreadable.length ? (
          <Blocked problems={unreadable} onGo={() => setSaving(false)} />
        ) : (
          <TemplateForm spec={spec} onClose={() => setSaving(false)} />
        )}
      </Dialog>
      <Dialog open={importing} title="Import a spec" onClose={() => setImporting(false)}>
        <ImportForm
          onSpec={(spec, from) => {
            setImporting(false);
            onSpec(spec, from);
          }}
        />
      </Dialog>
    </>
  );
}

function ImportForm({ onSpec }: { onSpec: (spec: JsonObject, from: string) => void }) {
  const [text, setText] = useState("");
  const [name, setName] = useState("the text");
  const [fault, setFault] = useState("");
  /** A spec that names files, which may be uploaded first. */
  const [withFiles, setWithFiles] = useState<JsonObject | null>(null);
  const take = async () => {
    try {
      const spec = await readSpec(text);
      if (localFiles(spec).length) setWithFiles(spec);
      else onSpec(spec, name);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  const read = async (file: File | undefined) => {
    if (!file) return;
    setName(file.name);
    setText(await file.text());
    setFault("");
  };
  if (withFiles) return <UploadFiles spec={withFiles} onSpec={(spec) => onSpec(spec, name)} />;
  return (
    <form
      className={styles.dialog}
      onSubmit={(event) => {
        event.preventDefault();
        void take();
      }}
    >
      <Note>TOML or JSON, as for proximal jobs submit. It replaces what the form holds.</Note>
      <input
        type="file"
        aria-label="File with a spec"
        accept=".toml,.json"
        onChange={(event) => void read(event.target.files?.[0])}
      />
      <textarea
        rows={12}
        aria-label="Text of the spec"
        aria-invalid={fault !== ""}
        aria-describedby={fault ? "import-fault" : undefined}
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setFault("");
        }}
      />
      {fault && (
        <p id="import-fault" className={styles.blocking} role="alert">
          {fault}
        </p>
      )}
      <div className={styles.actions}>
        <Button type="submit" look="primary" disabled={!text.trim()}>
          Import
        </Button>
      </div>
    </form>
  );
}
