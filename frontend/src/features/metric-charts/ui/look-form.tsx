import { changeLook, MOST_COLUMNS, type Size, SIZES, useLook, useSize } from "@/charts/look";
import { Segmented } from "@/components/segmented";
import styles from "./charts.module.css";

const SIZE_NAMES: Record<Size, string> = { small: "Small", medium: "Medium", large: "Large" };
const COUNTS = Array.from({ length: MOST_COLUMNS }, (_, index) => index + 1);

/** Size and columns of the charts, and a switch for the marks. This browser keeps them. */
export function LookForm() {
  const { columns, marks } = useLook();
  const { size } = useSize();
  return (
    <div className={styles.look}>
      <div>
        <span>Size</span>
        <Segmented
          label="Size of the charts"
          options={SIZES.map((id) => ({ id, label: SIZE_NAMES[id] }))}
          value={size}
          onChange={(chosen) => changeLook({ size: chosen })}
        />
      </div>
      <label>
        <span>Columns</span>
        <select
          value={columns ?? ""}
          onChange={(event) => changeLook({ columns: event.target.value ? Number(event.target.value) : null })}
        >
          <option value="">as many as fit</option>
          {COUNTS.map((count) => (
            <option key={count}>{count}</option>
          ))}
        </select>
      </label>
      <label>
        <input type="checkbox" checked={marks} onChange={(event) => changeLook({ marks: event.target.checked })} />
        Mark events on the charts
      </label>
      <p className={styles.hint}>
        This browser remembers these choices, for every run. Narrow windows have fewer columns.
      </p>
    </div>
  );
}
