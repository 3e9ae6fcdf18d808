import { useNow } from "@/components/use-now";
import { absolute, ago } from "@/lib/format";

export function TimeAgo({ time }: { time: string }) {
  const now = useNow();
  return (
    <time dateTime={time} title={absolute(time)}>
      {ago(time, now)}
    </time>
  );
}
