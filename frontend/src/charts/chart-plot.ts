import uPlot, { type AlignedData } from "uplot";
import { axisText, isStepAxis } from "@/charts/axis";
import { type ChartData, toColumns } from "@/charts/columns";
import { type Crosshair, crosshairAt, type Drawn, NOTHING_DRAWN, valuesOn } from "@/charts/drawn";
import type { Exported } from "@/charts/export";
import type { ChartGroup } from "@/charts/group";
import { markText } from "@/charts/marks";
import { readPalette } from "@/charts/palette";
import { pressed, selected } from "@/charts/pointer";
import { inputsOf, keyOf, partsOf, type PlotInput, same } from "@/charts/plot-input";
import { plotOptions } from "@/charts/plot-options";
import { nearest } from "@/charts/readout";
import { fromStepOne } from "@/charts/series";
import { drawnScale, pointsOutside, type ScaleKind } from "@/charts/y-scale";

/** The one place that creates uPlot. It is built anew when its lines or colours change; otherwise it is only fed. */
export class ChartPlot {
  private input: PlotInput | null = null;
  private host: HTMLElement | null = null;
  private plot: uPlot | null = null;
  private built = "";
  private isDrawing = false;
  private prepared: readonly unknown[] = [];
  private drawn = NOTHING_DRAWN;
  private release: (() => void) | null = null;
  private readonly listeners = new Set<() => void>();
  private crosshair: Crosshair | null = null;

  constructor(private readonly group: ChartGroup) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  getDrawn = (): Drawn => this.drawn;

  /** The crosshair in the shown part; null outside it. */
  getCrosshair = (): Crosshair | null => this.crosshair;

  /** The chart as it is drawn, for a file of it; null while it is not. */
  exported(title: string): Exported | null {
    const { plot, host, input } = this;
    if (!plot || !host || !input) return null;
    const { columns } = this.drawn.chart;
    const { axis } = input.shared.settings;
    const over = isStepAxis(axis) ? "" : `, over ${axisText(axis, input.shared.axisName)}`;
    return {
      title: title + over,
      axis,
      unit: input.unit,
      lines: input.lines,
      columns,
      plot,
      palette: readPalette(host),
    };
  }

  update(input: PlotInput): void {
    const isSame = this.input !== null && same(inputsOf(this.input), inputsOf(input));
    this.input = input;
    if (!isSame) this.group.schedule(this.draw);
  }

  attach(host: HTMLElement): void {
    this.host = host;
    const observer = new ResizeObserver(() => this.group.schedule(this.draw));
    observer.observe(host);
    const stops = [
      this.group.onRange(() => this.group.schedule(this.draw)),
      this.group.onCursor(this.follow),
      () => observer.disconnect(),
    ];
    this.release = () => stops.forEach((stop) => stop());
    this.group.schedule(this.draw);
  }

  detach(): void {
    this.release?.();
    this.group.forget(this.draw);
    this.plot?.destroy();
    this.plot = this.host = this.release = null;
    this.built = "";
  }

  /** Text of the marks under the crosshair. */
  marksUnder(position: number | null): string | null {
    const marks = this.input?.shared.marks ?? [];
    return position === null || !this.plot ? null : markText(this.plot, marks, position);
  }

  /** Moves the crosshair of the whole group by a number of points. */
  step(by: number): void {
    const positions = this.drawn.chart.data[0];
    const at = this.group.getCursor();
    const { from, to } = this.group.getRange();
    const index = at === null ? nearest(positions, by > 0 ? from : to) : nearest(positions, at) + by;
    this.group.setCursor(positions[Math.min(positions.length - 1, Math.max(0, index))] ?? null);
  }

  private readonly draw = (): void => {
    const { input, host } = this;
    if (!input || !host?.clientWidth) return;
    const { chart, scale } = this.prepare(input);
    const key = keyOf(input, chart, scale);
    this.isDrawing = true;
    if (!this.plot || key !== this.built) {
      this.plot?.destroy();
      this.plot = this.create(input, host, chart, scale);
      this.built = key;
    }
    const { from, to } = this.group.getRange();
    const { clientWidth: width } = host;
    const { plot } = this;
    plot.batch(() => {
      if (plot.width !== width || plot.height !== input.height) plot.setSize({ width, height: input.height });
      if (plot.data !== chart.data) plot.setData(chart.data as AlignedData, false);
      plot.setScale("x", { min: from, max: to });
    });
    this.isDrawing = false;
    this.follow();
    this.set({ chart, scale, outside: input.shared.settings.clip ? pointsOutside(plot, chart) : 0 });
  };

  private prepare({ lines, shared }: PlotInput): Pick<Drawn, "chart" | "scale"> {
    const { axis, smoothing, average, scale: wanted } = shared.settings;
    // The extent counts in steps of a tenth, so that a growing run is not smoothed anew with every point.
    const extent = smoothing ? 1.1 ** Math.ceil(Math.log(Math.max(1e-9, this.group.extent)) / Math.log(1.1)) : 0;
    const depends = [axis, smoothing, average, wanted, extent, lines.length, ...lines.flatMap(partsOf)];
    if (same(depends, this.prepared)) return this.drawn;
    const placed = axis === "log-step" ? lines.map((line) => ({ ...line, series: fromStepOne(line.series) })) : lines;
    const chart = toColumns(placed, { weight: smoothing, average, extent, byPoint: axis === "log-step" });
    this.prepared = depends;
    return { chart, scale: drawnScale(wanted, valuesOn(chart, wanted)) };
  }

  private create(input: PlotInput, host: HTMLElement, chart: ChartData, scale: ScaleKind): uPlot {
    const { lines, unit, healthy, height, shared } = input;
    const look = { lines, unit, healthy, height, scale, columns: chart.columns, settings: shared.settings };
    const marks = () => this.input?.shared.marks ?? [];
    const options = plotOptions({ ...look, marks, palette: readPalette(host), width: host.clientWidth }, chart.data, {
      onCursor: this.lead,
      onSelect: this.select,
      onReset: () => this.group.setView(null),
      onPress: this.press,
    });
    return new uPlot(options, chart.data as AlignedData, host);
  }

  /** The pointer is over this chart: the others follow. */
  private readonly lead = (plot: uPlot): void => {
    if (this.isDrawing && !this.group.followsPointer()) return;
    const { left } = plot.cursor;
    this.group.setCursor(left === undefined || left < 0 ? null : plot.posToVal(left, "x"), true);
  };

  private readonly follow = (): void => {
    if (!this.plot) return;
    const position = this.group.getCursor();
    const { from, to } = this.group.getRange();
    const isShown = position !== null && position >= from && position <= to;
    const left = isShown ? this.plot.valToPos(position, "x") : -10;
    this.mark(isShown ? crosshairAt(this.plot, position, left) : null);
    if (Math.abs(left - (this.plot.cursor.left ?? -10)) < 0.5) return;
    this.plot.setCursor({ left, top: left < 0 ? -10 : 1 }, false);
  };

  private mark(next: Crosshair | null): void {
    const { crosshair } = this;
    if (next?.position === crosshair?.position && next?.left === crosshair?.left) return;
    this.crosshair = next;
    this.listeners.forEach((listener) => listener());
  }

  private readonly select = (plot: uPlot): void => selected(plot, this.group);

  private readonly press = (plot: uPlot, event: MouseEvent) =>
    pressed(plot, event, this.group, (at) => this.choose(at));

  choose(position: number | null): void {
    const positions = this.drawn.chart.data[0];
    const at = position === null ? undefined : positions[nearest(positions, position)];
    if (at !== undefined) this.input?.shared.onPoint?.(at);
  }

  private set(drawn: Drawn): void {
    const { chart, scale, outside } = this.drawn;
    if (chart === drawn.chart && scale === drawn.scale && outside === drawn.outside) return;
    this.drawn = drawn;
    this.listeners.forEach((listener) => listener());
  }
}
