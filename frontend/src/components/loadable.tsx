import { type ComponentType, lazy, type LazyExoticComponent, useEffect, useState } from "react";
import { ApiError } from "@/lib/api/client";
import { onFrame } from "@/lib/live/frame";
import { isReplaced, reloadOnce } from "@/lib/version";

const renewals = new Set<() => void>();

/** Lets the parts whose code could not be loaded try again when they are next shown. */
export const renewLoadables = (): void => renewals.forEach((renew) => renew());

/** A component whose code comes later. `preload` fetches the code before it is shown, and never fails. */
type Loadable<Props> = ComponentType<Props> & { readonly preload: () => Promise<void> };

/**
 * A component whose code is loaded when it is first shown, or by `preload`. With its code it is shown at once. Otherwise
 * React shows the fallback of the nearest Suspense, for 0.3 s at least. A failure is an ApiError of status 0, and `renewLoadables`
 * allows another try. If the server has a newer build, whose files have other names, the page is loaded again.
 */
export function loadable<Props extends object>(load: () => Promise<ComponentType<Props>>): Loadable<Props> {
  let loaded: ComponentType<Props> | null = null;
  const part = () => lazy(async () => ({ default: await withRecovery(load) }));
  let Part: LazyExoticComponent<ComponentType<Props>> = part();
  const renew = () => {
    Part = part();
  };
  function Shown(props: Props) {
    // Chosen once: another component would lose the state of this one.
    const [Chosen] = useState(() => loaded ?? Part);
    return <Chosen {...props} />;
  }
  const preload = () => keep().catch(() => undefined);
  return Object.assign(Shown, { preload });

  async function keep(): Promise<void> {
    loaded ??= await load();
  }

  async function withRecovery(attempt: typeof load): Promise<ComponentType<Props>> {
    try {
      loaded ??= await attempt();
      renewals.delete(renew);
      return loaded;
    } catch {
      renewals.add(renew);
      if ((await isReplaced()) && reloadOnce()) await new Promise(() => undefined);
      throw new ApiError(0, { title: "The code of this page could not be loaded." });
    }
  }
}

/** Fetches the code of a part when the page around it is painted. Returns whether the part can be shown without a fallback. */
export function usePreloaded(part: Pick<Loadable<never>, "preload">): boolean {
  const [isTried, setTried] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const load = () => void part.preload().then(() => setTried(true));
    // A frame begins before it is painted, a timer that is set in it ends after that.
    const cancel = onFrame(() => {
      timer = setTimeout(load);
    });
    return () => {
      cancel();
      clearTimeout(timer);
    };
  }, [part]);
  return isTried;
}
