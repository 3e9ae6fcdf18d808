import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { Prose } from "@/components/text";
import { toast } from "@/components/toast";
import { createTemplate, templatesQuery } from "@/features/job-form/api";
import { refusalText } from "@/features/job-form/model/problems";
import type { JsonObject } from "@/features/job-form/model/spec";
import { LONGEST } from "@/lib/api/fields.gen";
import styles from "./form.module.css";

/** Stores the fields that are set under a name, for later jobs. */
export function TemplateForm({ spec, onClose }: { spec: JsonObject; onClose: () => void }) {
  const [name, setName] = useState(typeof spec.name === "string" ? spec.name : "");
  const [description, setDescription] = useState("");
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: () => createTemplate(name.trim(), description, spec),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: templatesQuery.queryKey });
      toast(`The template ${name.trim()} is saved.`);
      onClose();
    },
  });
  return (
    <form
      className={styles.dialog}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Note>It holds the fields that are set, without the defaults. Fields that a job needs can come later.</Note>
      <div className={styles.leaf}>
        <label htmlFor="template-name">Name of the template</label>
        <input
          id="template-name"
          type="text"
          required
          maxLength={LONGEST.templateName}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <div className={styles.leaf}>
        <label htmlFor="template-description">Description</label>
        <textarea
          id="template-description"
          rows={3}
          maxLength={LONGEST.templateDescription}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </div>
      {save.error && (
        <p className={styles.blocking} role="alert">
          <Prose text={refusalText(save.error)} />
        </p>
      )}
      <div className={styles.actions}>
        <Button type="submit" look="primary" disabled={!name.trim() || save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
