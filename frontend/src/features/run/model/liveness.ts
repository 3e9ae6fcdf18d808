import type { Job } from "@/lib/api/types";
import { clock, duration } from "@/lib/format";
import type { Link } from "@/lib/live/protocol";

/** How current the page is, for the header. */
interface Liveness {
  readonly state: "connecting" | "live" | "stalled" | "reconnecting" | "offline" | "ended";
  readonly label: string;
  readonly title: string;
}

export interface Pulse {
  readonly link: Link;
  /** The run has ended and every event is here. */
  readonly ended: boolean;
  /** Whether the job is in a state in which steps are expected. */
  readonly isRunning: boolean;
  /** When the run last reported anything, in ms of the epoch. */
  readonly heardAt: number | null;
  /** Usual seconds between two steps; null while unknown. */
  readonly secondsPerStep: number | null;
}

const PATIENCE_SECONDS = 120;
/** A run is stalled after so many times the usual duration of a step. */
const STEPS_OF_PATIENCE = 5;

export function liveness(pulse: Pulse, now: number): Liveness {
  const { link, ended } = pulse;
  if (ended) return { state: "ended", label: "ended", title: "The run has ended and every event is here." };
  const time = () => clock(new Date(link.since).toISOString());
  switch (link.state) {
    case "offline":
      return {
        state: "offline",
        label: `offline since ${time()}`,
        title: "This device has no network. The page continues from the last event it received.",
      };
    case "reconnecting":
      return {
        state: "reconnecting",
        label: `reconnecting since ${time()}`,
        title: "The server does not respond. The page continues from the last event it received.",
      };
    case "live":
      return stalled(pulse, now) ?? { state: "live", label: "live", title: "Events arrive as they happen." };
    default:
      return { state: "connecting", label: "connecting", title: "Opening the event stream." };
  }
}

function stalled({ isRunning, heardAt, secondsPerStep }: Pulse, now: number): Liveness | null {
  if (!isRunning || heardAt === null) return null;
  const silent = (now - heardAt) / 1000;
  if (silent < Math.max(PATIENCE_SECONDS, STEPS_OF_PATIENCE * (secondsPerStep ?? 0))) return null;
  return {
    state: "stalled",
    label: `no step for ${silentTime(silent)}`,
    title: `The page is connected, but the run has reported nothing since ${clock(new Date(heardAt).toISOString())}. See the Logs tab.`,
  };
}

/** The usual duration of a step, from the server's estimate of the remaining time. */
export function secondsPerStep(progress: Job["progress"]): number | null {
  if (!progress || progress.eta_seconds === null || progress.step >= progress.total_steps) return null;
  return progress.eta_seconds / (progress.total_steps - progress.step);
}

/** Whole minutes, so that the text does not change every second. */
function silentTime(seconds: number): string {
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min` : duration(seconds);
}
