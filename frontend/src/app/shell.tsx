import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type RefObject, Suspense, useEffect, useRef } from "react";
import { Link, NavLink, Outlet, useLocation } from "react-router";
import { NewVersion } from "@/app/new-version";
import { MainNavigation } from "@/app/main-navigation";
import { Notifier } from "@/app/notifier";
import { KeepReadOnly, ReadOnlyBanner } from "@/app/read-only";
import { ThemeButton } from "@/app/theme";
import { Boundary } from "@/components/boundary";
import { keepFocus } from "@/components/keep-focus";
import { Button, buttonClass } from "@/components/button";
import { GearIcon, LeaveIcon, MarkIcon } from "@/components/icons";
import { Skeleton } from "@/components/status";
import { toast, Toasts } from "@/components/toast";
import { signOut } from "@/features/auth/api";
import { Palette } from "@/features/palette/ui/palette";
import { workersQuery } from "@/features/workers/api";
import { paths } from "@/lib/address";
import { sessionKey } from "@/lib/api/client";
import { count } from "@/lib/format";
import { useLink } from "@/lib/live/use-live";
import { usePermissions } from "@/lib/permissions";
import { useReadOnly } from "@/lib/read-only";
import { keepViewSettings, onRefusedSetting, viewSettingsQuery } from "@/lib/view-settings";
import styles from "./shell.module.css";

export function Shell() {
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const { may } = usePermissions();
  useKeptFocus(main, pathname);
  useEffect(keepFocus, []);
  return (
    <KeepReadOnly>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <header className={styles.header}>
        <div className={styles.bar}>
          <Link to={paths.jobs} className={styles.brand} aria-label="Proximal, all jobs">
            <MarkIcon />
            <span>Proximal</span>
          </Link>
          <MainNavigation />
          {may("read") && <Workers />}
          <Palette />
          <Notifier />
          <ThemeButton />
          <NavLink to={paths.settings()} className={buttonClass("quiet")} aria-label="Settings" title="Settings">
            <GearIcon />
          </NavLink>
          <SignOut />
        </div>
      </header>
      <NewVersion />
      <ReadOnlyBanner />
      <ViewSettings />
      <main id="main" ref={main} className={styles.main} tabIndex={-1}>
        {/* The code of the first page may be on its way; later, the page before stays until the next one is there. */}
        <Boundary address={pathname}>
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </Boundary>
      </main>
      <Toasts />
    </KeepReadOnly>
  );
}

/** Moves the focus to the content when a link was followed whose page is gone, so that a screen reader reads the new page. */
function useKeptFocus(main: RefObject<HTMLElement | null>, pathname: string): void {
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    const focused = document.activeElement;
    if (!focused || focused === document.body || !focused.checkVisibility())
      main.current?.focus({ preventScroll: true });
  }, [main, pathname]);
}

/** Pages that are as wide as the screen: beginnings of their addresses, and whole ones. */
const WIDE = [
  paths.job("job_"),
  paths.compare(),
  paths.findings,
  paths.groups,
  paths.dataset("ds_"),
  paths.workers,
  paths.settings(),
];
const isWide = (path: string) =>
  [paths.jobs, paths.datasets, paths.rounds, paths.templates].includes(path) ||
  WIDE.some((start) => path.startsWith(start));

/** The place of a page whose code is on its way. A wide page is wide from the beginning, so that nothing moves. */
function Loading() {
  const { pathname } = useLocation();
  return (
    <div data-wide={isWide(pathname) || undefined}>
      <Skeleton rows={5} height="2.5rem" label="Loading the page" />
    </div>
  );
}

function Workers() {
  const link = useLink();
  const workers = useQuery({ ...workersQuery, refetchInterval: link.state === "live" ? 60_000 : 10_000 });
  const { refetch } = workers;
  useEffect(() => {
    const check = () => void refetch();
    for (const change of ["offline", "online"]) window.addEventListener(change, check);
    return () => ["offline", "online"].forEach((change) => window.removeEventListener(change, check));
  }, [refetch]);
  // A browser without a network still reaches a platform on its own machine.
  if (link.state === "offline" || link.state === "reconnecting" || workers.isError)
    return (
      <span className={`${styles.workers} ${styles.off}`}>{navigator.onLine ? "server unreachable" : "offline"}</span>
    );
  if (!workers.data) return <span className={styles.workers} />;
  const online = workers.data.filter((one) => !one.offline).length;
  return (
    <NavLink
      to={paths.workers}
      className={`${styles.workers} ${online ? styles.on : styles.off}`}
      title="Workers that can run jobs"
    >
      <span>
        {online ? count(online, "worker") : "no worker"} <span className={styles.wide}>online</span>
      </span>
    </NavLink>
  );
}

function SignOut() {
  const client = useQueryClient();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: () => {
      client.setQueryData(sessionKey, null);
      client.removeQueries({ predicate: (query) => query.queryKey[0] !== sessionKey[0] });
    },
  });
  return (
    <Button
      look="quiet"
      onClick={() => leave.mutate()}
      disabled={leave.isPending}
      aria-label="Sign out"
      title="Sign out"
    >
      <LeaveIcon />
    </Button>
  );
}

/** Keeps the layouts and views of the user the same in all browsers. */
function ViewSettings() {
  useQuery(viewSettingsQuery);
  const isReadOnly = useReadOnly();
  useEffect(() => keepViewSettings(!isReadOnly), [isReadOnly]);
  useEffect(() => {
    onRefusedSetting(({ message }) => toast(`The view is kept in this browser only: ${message}`, { tone: "bad" }));
  }, []);
  return null;
}
