import { Button } from "@/components/button";
import { Prose } from "@/components/text";
import { problemsAt } from "@/features/job-form/model/problems";
import { type Field, fieldsOf, type Group, type Variants } from "@/features/job-form/model/schema";
import { isObject, type Json, type JsonObject, valueAt } from "@/features/job-form/model/spec";
import { controlId, useForm } from "@/features/job-form/ui/form-context";
import { LeafField } from "@/features/job-form/ui/leaf-field";
import styles from "./form.module.css";

/** Fields side by side; sections take the whole width. */
export function Fields({ fields }: { fields: readonly Field[] }) {
  return (
    <div className={styles.fields}>
      {fields.map((field) =>
        field.type === "leaf" ? (
          <LeafField key={field.path} leaf={field} />
        ) : field.type === "group" ? (
          <GroupField key={field.path} group={field} />
        ) : (
          <VariantsField key={field.path} field={field} />
        ),
      )}
    </div>
  );
}

function GroupField({ group }: { group: Group }) {
  const { spec, set } = useForm();
  const isOn = !group.optional || isObject(valueAt(spec, group.path));
  return (
    <fieldset className={styles.group} data-path={group.path}>
      <legend>
        {group.optional ? (
          <label className={styles.check}>
            <input
              id={controlId(group.path)}
              type="checkbox"
              checked={isOn}
              onChange={(event) => set(group.path, event.target.checked ? {} : undefined)}
            />
            {group.label}
          </label>
        ) : (
          group.label
        )}
      </legend>
      <p className={styles.help}>
        <Prose text={group.help} />
      </p>
      <Faults path={group.path} />
      {isOn && <Fields fields={group.fields} />}
    </fieldset>
  );
}

/** The problems of a field itself, as opposed to those of its parts. */
export function Faults({ path }: { path: string }) {
  const { problems } = useForm();
  return problemsAt(problems, path).map((problem, index) => (
    <small key={index} className={styles[problem.severity]}>
      <Prose text={problem.advice ? `${problem.text} ${problem.advice}` : problem.text} />
    </small>
  ));
}

/** Any number of rewards, or one judge. */
function VariantsField({ field }: { field: Variants }) {
  const { spec, set, removeItem } = useForm();
  const value = valueAt(spec, field.path);
  const items = Array.isArray(value) ? value : [];
  const names = field.options.map(({ name }) => name);
  const added = { type: names[0] ?? "model" };
  return (
    <fieldset className={styles.group} data-path={field.path}>
      <legend>{field.label}</legend>
      <p className={styles.help}>
        <Prose text={field.help} />
      </p>
      <Faults path={field.path} />
      {field.list ? (
        <>
          {items.map((item, index) => (
            <Variant
              key={index}
              field={field}
              path={`${field.path}.${index}`}
              label={`${field.label} ${index + 1}`}
              names={names}
              value={item}
              onRemove={() => removeItem(field.path, index)}
            />
          ))}
          <div>
            <Button
              onClick={() => (items.length ? set(`${field.path}.${items.length}`, added) : set(field.path, [added]))}
            >
              Add a reward
            </Button>
          </div>
        </>
      ) : (
        <Variant
          field={field}
          path={field.path}
          label={field.label}
          names={["", ...names, "installed"]}
          value={value}
        />
      )}
    </fieldset>
  );
}

interface VariantProps {
  field: Variants;
  path: string;
  label: string;
  names: readonly string[];
  value: Json | undefined;
  onRemove?: () => void;
}

function Variant({ field, path, label, names, value, onRemove }: VariantProps) {
  const { schema, set } = useForm();
  const type =
    typeof value === "string"
      ? "installed"
      : isObject(value)
        ? typeof value.type === "string"
          ? value.type
          : "model"
        : "";
  const option = field.options.find(({ name }) => name === type);
  const choose = (chosen: string) => {
    if (chosen === "") set(path, undefined);
    else set(path, chosen === "installed" ? "" : kept(value, chosen));
  };
  return (
    <div className={styles.variant}>
      <div className={styles.head}>
        <select
          id={controlId(path)}
          aria-label={`Type of ${label}`}
          value={type}
          onChange={(event) => choose(event.target.value)}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name === "" ? "Default" : name === "installed" ? "an installed judge" : name.replaceAll("_", " ")}
            </option>
          ))}
        </select>
        {onRemove && (
          <Button look="quiet" onClick={onRemove}>
            Remove<span className="visually-hidden"> {label}</span>
          </Button>
        )}
      </div>
      {type === "installed" && (
        <input
          type="text"
          aria-label={`Name of the installed ${label.toLowerCase()}`}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => set(path, event.target.value)}
        />
      )}
      {option && (
        <>
          <p className={styles.help}>
            <Prose text={option.help} />
          </p>
          <Fields fields={fieldsOf(schema, option.schema, path)} />
        </>
      )}
    </div>
  );
}

/** Another type keeps the name and the weight. */
function kept(value: Json | undefined, type: string): JsonObject {
  const before = isObject(value) ? value : {};
  const common = Object.entries(before).filter(([name]) => name === "name" || name === "weight");
  return { type, ...Object.fromEntries(common) };
}
