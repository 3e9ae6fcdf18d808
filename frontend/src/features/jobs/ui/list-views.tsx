import { Suspense, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import { useNavigate } from "react-router";
import { Button } from "@/components/button";
import { loadable } from "@/components/loadable";
import { Popover } from "@/components/popover";
import {
  type ColumnId,
  fieldsIn,
  labelOfColumn,
  MOST_FIELD_COLUMNS,
  orderedColumns,
  readColumns,
  withMoved,
} from "@/features/jobs/model/columns";
import { isFieldColumn } from "@/features/jobs/model/fields";
import { readViews, type View, withView } from "@/features/jobs/model/views";
import { paths } from "@/lib/address";
import { useViewSetting, viewSetting } from "@/lib/view-settings";
import styles from "./jobs.module.css";

const AddColumn = loadable(async () => (await import("@/features/jobs/ui/field-picker")).AddColumn);

const columnsSetting = viewSetting("jobs.columns", (stored): readonly unknown[] | null =>
  Array.isArray(stored) ? stored : null,
);
const viewsSetting = viewSetting("jobs.views", readViews);

/** The chosen columns. */
export function useColumns(): [readonly ColumnId[], (columns: readonly ColumnId[]) => void] {
  const stored = useViewSetting(columnsSetting);
  const columns = useMemo(
    () => readColumns(stored?.join(",") ?? null, window.matchMedia("(width >= 106rem)").matches),
    [stored],
  );
  return [columns, (chosen) => columnsSetting.change(() => chosen)];
}

interface ListViewsProps {
  columns: readonly ColumnId[];
  onColumns: (columns: readonly ColumnId[]) => void;
  /** The query of the address that shows the present list. */
  query: string;
}

/** The columns, and lists that are kept under a name. */
export function ListViews({ columns, onColumns, query }: ListViewsProps) {
  return (
    <div className={styles.views}>
      <Popover button="Columns" label="Columns of the table">
        <ColumnChoice chosen={columns} onChange={onColumns} />
        {fieldsIn(columns).length < MOST_FIELD_COLUMNS && (
          <Suspense fallback={null}>
            <AddColumn onAdd={(id) => isFieldColumn(id) && onColumns([...new Set([...columns, id])])} />
          </Suspense>
        )}
      </Popover>
      <Popover button="Views" label="Saved views">
        {(close) => <SavedViews columns={columns} onColumns={onColumns} query={query} onShow={close} />}
      </Popover>
    </div>
  );
}

interface ColumnChoiceProps {
  chosen: readonly ColumnId[];
  onChange: (columns: readonly ColumnId[]) => void;
}

/** Which columns are shown, and their order. */
function ColumnChoice({ chosen, onChange }: ColumnChoiceProps) {
  const order = orderedColumns(chosen);
  const move = (id: ColumnId, by: number, button: HTMLElement) => {
    flushSync(() => onChange(withMoved(chosen, id, by)));
    button.focus(); // The browser takes the focus from an element that moves.
  };
  return (
    <ul className={styles.columns}>
      {order.map((id) => {
        const label = labelOfColumn(id);
        const place = chosen.indexOf(id);
        return (
          <li key={id}>
            <label className={styles.check}>
              <input
                type="checkbox"
                checked={place >= 0}
                onChange={({ target }) =>
                  onChange(order.filter((one) => (one === id ? target.checked : chosen.includes(one))))
                }
              />
              {label}
            </label>
            {place >= 0 && (
              <span>
                <Button
                  look="quiet"
                  busy={place === 0}
                  aria-label={`Move ${label} up`}
                  onClick={({ currentTarget }) => move(id, -1, currentTarget)}
                >
                  ↑
                </Button>
                <Button
                  look="quiet"
                  busy={place === chosen.length - 1}
                  aria-label={`Move ${label} down`}
                  onClick={({ currentTarget }) => move(id, 1, currentTarget)}
                >
                  ↓
                </Button>
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

interface SavedViewsProps extends ListViewsProps {
  onShow: () => void;
}

function SavedViews({ columns, onColumns, query, onShow }: SavedViewsProps) {
  const navigate = useNavigate();
  const views = useViewSetting(viewsSetting);
  const [name, setName] = useState("");
  const show = (view: View) => {
    onColumns(view.columns);
    void navigate(`${paths.jobs}${view.query && `?${view.query}`}`);
    onShow();
  };
  return (
    <div className={styles.saved}>
      {views.length === 0 && <p>A view keeps the filters, the order and the columns of this list.</p>}
      {views.map((view) => (
        <div key={view.name}>
          <Button look="quiet" onClick={() => show(view)}>
            {view.name}
          </Button>
          <Button
            look="quiet"
            aria-label={`Delete the view ${view.name}`}
            onClick={({ currentTarget }) => {
              // The button is about to go: the next view, or the name of a new one, gets the focus.
              const next = currentTarget.parentElement?.nextElementSibling;
              next?.querySelector<HTMLElement>("input, button:last-of-type")?.focus();
              viewsSetting.change((kept) => kept.filter((one) => one !== view));
            }}
          >
            ×
          </Button>
        </div>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          viewsSetting.change((kept) => withView(kept, { name: name.trim(), query, columns }));
          setName("");
        }}
      >
        <input
          type="text"
          aria-label="Name of the view"
          placeholder="Name"
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" disabled={!name.trim()}>
          Save
        </Button>
      </form>
    </div>
  );
}
