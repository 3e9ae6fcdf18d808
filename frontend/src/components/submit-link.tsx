import type { ReactNode } from "react";
import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { usePermissions } from "@/lib/permissions";

/** The main button of a page, which leads to a form that makes something. A user whose role does not allow that has none. */
export function SubmitLink({ to, children }: { to: string; children: ReactNode }) {
  const { may } = usePermissions();
  if (!may("submit")) return null;
  return (
    <Link className={buttonClass("primary")} to={to}>
      {children}
    </Link>
  );
}
