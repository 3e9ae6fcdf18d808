import { useCallback, useMemo } from "react";
import { type Place, placeOf, withPlace } from "@/features/completions/model/place";
import { useAddress } from "@/lib/address";

export interface Chooser {
  readonly place: Place;
  readonly choose: (change: Partial<Place>) => void;
  /** The address after a change, for a link. */
  readonly linkTo: (change: Partial<Place>) => string;
}

/** The choices of the completions tab, kept in the address. */
export function usePlace(): Chooser {
  const [params, setParams] = useAddress();
  const place = useMemo(() => placeOf(params), [params]);
  const choose = useCallback((change: Partial<Place>) => setParams((before) => withPlace(before, change)), [setParams]);
  const linkTo = useCallback((change: Partial<Place>) => `?${withPlace(params, change).toString()}`, [params]);
  return { place, choose, linkTo };
}
