import { Button } from "@/components/button";
import { Note } from "@/components/card";
import { Prose } from "@/components/text";
import { fieldName, type Problem } from "@/features/job-form/model/problems";
import { controlId, useForm } from "@/features/job-form/ui/form-context";
import styles from "./form.module.css";

/** Problems with the names of their fields, which lead to them. `onGo`: before the page shows a field. */
export function Problems({ problems, onGo }: { problems: readonly Problem[]; onGo?: () => void }) {
  const { reveal, unreadable, dropText } = useForm();
  if (!problems.length) return null;
  return (
    <ul className={styles.problems}>
      {problems.map(({ path, severity, text, advice }, index) => (
        <li key={index} className={styles[severity]}>
          {path && (
            <button
              type="button"
              className={styles.where}
              title={path}
              onClick={() => {
                onGo?.();
                reveal(path);
              }}
            >
              {fieldName(path)}
            </button>
          )}
          <Prose text={advice ? `${text} ${advice}` : text} />
          {path in unreadable && (
            <Button look="quiet" className={styles.small} onClick={() => dropText(path)}>
              Discard this text<span className="visually-hidden"> of {fieldName(path)}</span>
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** In place of an action on the spec, while some of its fields cannot be read. */
export function Blocked({ problems, onGo }: { problems: readonly Problem[]; onGo: () => void }) {
  return (
    <div className={styles.dialog}>
      <Note role="alert">
        These texts are not part of the spec, because they cannot be read. Correct or discard them first.
      </Note>
      <Problems problems={problems} onGo={onGo} />
    </div>
  );
}

/** Scrolls to the field of a problem, or to the nearest section above it. */
export function showField(path: string): void {
  for (let at = path; at; at = at.includes(".") ? at.slice(0, at.lastIndexOf(".")) : "") {
    const found =
      document.getElementById(controlId(at)) ??
      document.querySelector<HTMLElement>(`[data-path="${at}"]`) ??
      document.getElementById(`section-${at}`);
    if (!found) continue;
    found.scrollIntoView({ block: "center" });
    const control = found.matches("input, select, textarea") ? found : found.querySelector("input, select, textarea");
    if (control instanceof HTMLElement) control.focus({ preventScroll: true });
    return;
  }
}
