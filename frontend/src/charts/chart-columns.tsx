import type { CSSProperties, ReactNode } from "react";
import { useLook, useSize } from "@/charts/look";
import styles from "./charts.module.css";

/** Charts side by side: as many as have room, or at most as many as the user has chosen. */
export function ChartColumns({ className = "", children }: { className?: string | undefined; children: ReactNode }) {
  const { columns } = useLook();
  const { width } = useSize();
  // A chosen number makes the charts narrower, down to a width at which a chart can still be read.
  const style = columns === null ? { "--least": width } : { "--columns": columns };
  return (
    <div
      className={`${styles.columns} ${columns === null ? "" : styles.chosen} ${className}`}
      style={style as CSSProperties}
    >
      {children}
    </div>
  );
}
