import { useEffect, useRef } from "react";
import uPlot, { type AlignedData, type Options } from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Palette, readPalette, useScheme } from "@/charts/palette";
import styles from "./plots.module.css";

export type PlotOptions = Omit<Options, "width" | "height">;

interface PlotProps {
  /** Text of the picture for screen readers. */
  label: string;
  data: AlignedData;
  /** The options for the present colours. Another function draws the plot anew. */
  options: (palette: Palette) => PlotOptions;
}

/** Higher in a wide place. */
const heightOf = (width: number): number => Math.round(Math.min(440, Math.max(280, width * 0.36)));

/** A plot that fills the width of its place. */
export function Plot({ label, data, options }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const scheme = useScheme();
  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const size = () => ({ width: host.clientWidth, height: heightOf(host.clientWidth) });
    const plot = new uPlot({ ...size(), ...options(readPalette(host)) }, data, host);
    const observer = new ResizeObserver(() => {
      if (host.clientWidth && host.clientWidth !== plot.width) plot.setSize(size());
    });
    observer.observe(host);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [data, options, scheme]);
  return <div ref={box} role="img" aria-label={label} className={styles.plot} />;
}
