import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/button";
import { Prose } from "@/components/text";
import { presetsQuery } from "@/features/job-form/api";
import { offered, suited } from "@/features/job-form/model/offer";
import type { Difference, Json } from "@/features/job-form/model/spec";
import { useForm } from "@/features/job-form/ui/form-context";
import { count } from "@/lib/format";
import styles from "./form.module.css";

/**
 * Offers the settings of the preset that is for the job's model and rewards, and takes them back on request. A field that a
 * sweep varies keeps its variations.
 */
export function Offer({ defaultOf }: { defaultOf: (path: string) => Json | undefined }) {
  const { spec, set, variations } = useForm();
  const presets = useQuery(presetsQuery);
  const [taken, setTaken] = useState<readonly Difference[]>([]);
  const preset = suited(spec, presets.data ?? []);
  if (!preset) return null;
  const settings = offered(spec, preset, defaultOf).filter(({ path }) => !Object.hasOwn(variations ?? {}, path));
  const take = () => {
    for (const { path, after } of settings) set(path, after);
    setTaken(settings);
  };
  const undo = () => {
    for (const { path, before } of taken) set(path, before);
    setTaken([]);
  };
  if (!settings.length)
    return (
      <p className={styles.offer}>
        <span>The settings are those of “{preset.title}”.</span>
        {taken.length > 0 && <Button onClick={undo}>Undo</Button>}
      </p>
    );
  return (
    <div className={styles.offer}>
      <details>
        <summary>For this model and these rewards there are settings: {preset.title}</summary>
        <p>
          <Prose text={preset.description} />
        </p>
        <ul>
          {settings.map(({ path, before, after }) => (
            <li key={path}>
              <code>{path}</code> = {JSON.stringify(after)}
              {before !== undefined && `, now ${JSON.stringify(before)}`}
            </li>
          ))}
        </ul>
      </details>
      <Button onClick={take}>Use {count(settings.length, "setting")}</Button>
    </div>
  );
}
