import { type ReactNode, useContext, useMemo } from "react";
import { Link, type To, UNSAFE_NavigationContext as NavigationContext, useLocation } from "react-router";
import { usePermissions } from "@/lib/permissions";
import { kept, useReadOnly, withReadOnly } from "@/lib/read-only";
import styles from "./shell.module.css";

/**
 * Keeps the read-only view in all links and changes of address within, so that a link that is opened in a new tab has it,
 * too. The router has no public place between a link and the address.
 */
export function KeepReadOnly({ children }: { children: ReactNode }) {
  const isOn = useReadOnly();
  const context = useContext(NavigationContext);
  const value = useMemo(() => {
    if (!isOn) return context;
    const { navigator } = context;
    // The router passes addresses in parts.
    const of = (to: To) => (typeof to === "string" ? to : kept(to, window.location.pathname));
    const keeping: typeof navigator = {
      ...navigator,
      createHref: (to) => navigator.createHref(of(to)),
      push: (to, ...rest) => navigator.push(of(to), ...rest),
      replace: (to, ...rest) => navigator.replace(of(to), ...rest),
    };
    return { ...context, navigator: keeping };
  }, [context, isOn]);
  return <NavigationContext value={value}>{children}</NavigationContext>;
}

/** Names the read-only view and leads out of it, unless the role of the user allows no other one. */
export function ReadOnlyBanner() {
  const { search } = useLocation();
  const { may } = usePermissions();
  if (!useReadOnly()) return null;
  return (
    <p className={`${styles.version} ${styles.readOnly}`} role="status">
      <span>
        <b>Read-only view</b> Actions are hidden.
      </span>
      {may("submit") && <Link to={{ search: withReadOnly(search, false) }}>Leave the read-only view</Link>}
    </p>
  );
}
