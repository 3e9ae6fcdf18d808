import { useCallback } from "react";
import { useSearchParams } from "react-router";

type Change = (before: URLSearchParams) => URLSearchParams;

/**
 * The parameters in the address, and a way to change them. A change starts from the address as it is now: pages are
 * rendered after it, and of two changes between two renderings the second would take the first back.
 * With `push` the browser's back button undoes the change.
 */
export function useAddress(): [URLSearchParams, (change: Change, push?: boolean) => void] {
  const [params, setParams] = useSearchParams();
  const change = useCallback(
    (to: Change, push = false) =>
      setParams(to(new URLSearchParams(window.location.search)), { replace: !push, preventScrollReset: true }),
    [setParams],
  );
  return [params, change];
}
