import { Combobox, type Option } from "@/components/combobox";

type Goal = "maximize" | "minimize";

interface ComparedByProps {
  options: readonly Option[];
  metric: string;
  goal: Goal;
  onChange: (to: { metric?: string; goal?: Goal }) => void;
  className?: string | undefined;
}

/** The metric that decides which run of a group is the best, and whether the highest or the lowest value is. */
export function ComparedBy({ options, metric, goal, onChange, className }: ComparedByProps) {
  return (
    <div className={className}>
      <Combobox
        label="Compared by"
        placeholder="Name of a figure or metric"
        options={options}
        value={metric}
        onChange={(chosen) => chosen && onChange({ metric: chosen })}
      />
      <select aria-label="Best" value={goal} onChange={({ target }) => onChange({ goal: target.value as Goal })}>
        <option value="maximize">highest is best</option>
        <option value="minimize">lowest is best</option>
      </select>
    </div>
  );
}
