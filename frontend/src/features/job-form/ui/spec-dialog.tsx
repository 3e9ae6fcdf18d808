import { useEffect, useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { Dialog } from "@/components/dialog";
import { DownloadIcon } from "@/components/icons";
import { Segmented } from "@/components/segmented";
import { Table } from "@/components/table";
import { CodeBlock } from "@/components/text";
import { commandFor, jsonOf, type Submission, tomlOf } from "@/features/job-form/model/exchange";
import type { Problem } from "@/features/job-form/model/problems";
import { differences, type Json, type JsonObject, valueAt } from "@/features/job-form/model/spec";
import { Blocked } from "@/features/job-form/ui/problem-list";
import styles from "./form.module.css";

const FORMS = [
  { id: "changes", label: "Changes" },
  { id: "toml", label: "TOML" },
  { id: "json", label: "JSON" },
  { id: "curl", label: "curl" },
  { id: "python", label: "Python" },
  { id: "cli", label: "CLI" },
] as const;
type FormId = (typeof FORMS)[number]["id"];

interface SpecDialogProps {
  spec: JsonObject;
  base: JsonObject | null;
  defaultOf: (path: string) => Json | undefined;
  /** The fields that cannot be read. The job has no text with them. */
  unreadable: readonly Problem[];
  submission: Submission;
  onClose: () => void;
}

/** The spec as a difference, as a file and as a command. */
export function SpecDialog({ spec, base, defaultOf, unreadable, submission, onClose }: SpecDialogProps) {
  const [form, setForm] = useState<FormId>("changes");
  const [toml, setToml] = useState("");
  useEffect(() => {
    void tomlOf(spec).then(setToml);
  }, [spec]);
  const code = form === "toml" ? toml : form === "json" ? jsonOf(spec) : "";
  if (unreadable.length)
    return (
      <Dialog open title="The job as text" onClose={onClose}>
        <Blocked problems={unreadable} onGo={onClose} />
      </Dialog>
    );
  return (
    <Dialog open title="The job as text" onClose={onClose}>
      <div className={styles.forms}>
        <Segmented label="Forms of the spec" options={FORMS} value={form} onChange={setForm} />
        {form === "changes" ? (
          <Changes spec={spec} base={base} defaultOf={defaultOf} />
        ) : code ? (
          <>
            <CodeBlock label={form === "toml" ? "spec.toml" : "spec.json"} code={code} />
            <Button onClick={() => download(`spec.${form}`, code)}>
              <DownloadIcon /> Download
            </Button>
          </>
        ) : (
          <Command language={form} submission={submission} toml={toml} />
        )}
      </div>
    </Dialog>
  );
}

function Command({ language, submission, toml }: { language: FormId; submission: Submission; toml: string }) {
  if (language !== "curl" && language !== "python" && language !== "cli") return null;
  return (
    <>
      <CodeBlock label="Submit it" code={commandFor(language, window.location.origin, submission, toml)} />
      <Note>The key is read from PROXIMAL_API_KEY. It is not part of the text.</Note>
    </>
  );
}

/** Only the fields that differ: from the original, or from the defaults. */
function Changes({ spec, base, defaultOf }: Pick<SpecDialogProps, "spec" | "base" | "defaultOf">) {
  const found = differences(base ?? {}, spec);
  if (!found.length) return <Note>{base ? "Nothing differs from the original." : "Every field has its default."}</Note>;
  return (
    <Table
      label="Changed settings"
      look="plain"
      head={["Field", base ? "Original" : "Default", "This job"]}
      className={styles.changes}
    >
      {found.map(({ path, before, after }) => (
        <tr key={path}>
          <th scope="row">
            <code>{path}</code>
          </th>
          <td>{show(before ?? defaultOf(path))}</td>
          <td>{show(after ?? (valueAt(spec, path) === undefined ? defaultOf(path) : after))}</td>
        </tr>
      ))}
    </Table>
  );
}

const show = (value: Json | undefined): string => {
  if (value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
};

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
