import { useLocation } from "react-router";
import { usePermissions } from "@/lib/permissions";

/** The parameter of the address that asks for the view: 1. A link that leaves it has 0, which no address keeps. */
const PARAMETER = "readonly";
const [ON, LEAVE] = ["1", "0"];

/** The pages that have the view: those of a run, of a comparison and of groups. */
const PAGES = /^\/(jobs\/job_|compare\/?$|groups(\/|$))/;

interface Address {
  readonly pathname: string;
  readonly search: string;
}

/** Whether the page at this address offers no action that changes something. It is a view, and no permission. */
export const isReadOnly = ({ pathname, search }: Address): boolean =>
  PAGES.test(pathname) && new URLSearchParams(search).get(PARAMETER) === ON;

/** Whether the present page offers no action that changes something: by its address, or by the role of the user. */
export function useReadOnly(): boolean {
  const { may } = usePermissions();
  return isReadOnly(useLocation()) || !may("submit");
}

/** The query of an address, changed so that it shows the page in the view, or leaves the view. */
export function withReadOnly(search: string, on: boolean): string {
  const params = new URLSearchParams(search);
  params.set(PARAMETER, on ? ON : LEAVE);
  return `?${params.toString()}`;
}

/** The address that a link of the view leads to: in the view too, where the page has it and the link does not leave it. */
export function kept<Target extends Partial<Address>>(to: Target, here: string): Target {
  const params = new URLSearchParams(to.search);
  if (params.get(PARAMETER) === LEAVE) params.delete(PARAMETER);
  else if (PAGES.test(to.pathname ?? here)) params.set(PARAMETER, ON);
  else params.delete(PARAMETER);
  const search = params.toString();
  return { ...to, search: search && `?${search}` };
}
