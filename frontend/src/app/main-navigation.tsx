import { useEffect, useRef } from "react";
import { Link, NavLink, useLocation } from "react-router";
import { paths } from "@/lib/address";
import { usePermissions } from "@/lib/permissions";
import styles from "./shell.module.css";

const PAGES = {
  Compare: paths.compare(),
  Findings: paths.findings,
  Groups: paths.groups,
  Templates: paths.templates,
  Datasets: paths.datasets,
};

/** Links to the main pages. Where they have no room, their row scrolls, and shows the present page. */
export function MainNavigation() {
  const row = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const { may } = usePermissions();
  useEffect(() => {
    row.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [pathname]);
  return (
    <nav ref={row} className={`${styles.nav} fading`} aria-label="Main">
      {may("read") && (
        <>
          <JobsLink />
          {Object.entries(PAGES).map(([name, to]) => (
            <NavLink key={to} to={to}>
              {name}
            </NavLink>
          ))}
        </>
      )}
      <NavLink to={paths.rounds}>Annotate</NavLink>
      <a href={paths.docs}>API</a>
    </nav>
  );
}

/** The list of jobs is at the root, so the address alone does not mark the pages below it. */
function JobsLink() {
  const isHere = /^\/(jobs)?(\/|$)/.test(useLocation().pathname);
  return (
    <Link to={paths.jobs} className={isHere ? "active" : undefined} aria-current={isHere ? "page" : undefined}>
      Jobs
    </Link>
  );
}
