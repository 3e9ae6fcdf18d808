import { type ComponentType, lazy, type LazyExoticComponent } from "react";
import { ApiError } from "@/lib/api/client";
import { isReplaced, reloadOnce } from "@/lib/version";

const renewals = new Set<() => void>();

/** Lets the parts whose code could not be loaded try again when they are next shown. */
export const renewLoadables = (): void => renewals.forEach((renew) => renew());

/**
 * A component whose code is loaded when it is first shown. A failure is an ApiError of status 0, and `renewLoadables`
 * allows another try. If the server has a newer build, whose files have other names, the page is loaded again.
 */
export function loadable<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const part = () => lazy(async () => ({ default: await withRecovery(load) }));
  let Part: LazyExoticComponent<ComponentType<Props>> = part();
  const renew = () => {
    Part = part();
  };
  return function Loadable(props: Props) {
    return <Part {...props} />;
  };

  async function withRecovery(attempt: typeof load): Promise<ComponentType<Props>> {
    try {
      const found = await attempt();
      renewals.delete(renew);
      return found;
    } catch {
      renewals.add(renew);
      if ((await isReplaced()) && reloadOnce()) await new Promise(() => undefined);
      throw new ApiError(0, { title: "The code of this page could not be loaded." });
    }
  }
}
