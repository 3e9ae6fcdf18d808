import { useEffect, useState } from "react";

/** The value once it has not changed for a while; compared by content, so that an equal one changes nothing. */
export function useSettled<T>(value: T, delayMs: number): T {
  const [settled, setSettled] = useState(value);
  const content = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(JSON.parse(content) as T), delayMs);
    return () => clearTimeout(timer);
  }, [content, delayMs]);
  return settled;
}
