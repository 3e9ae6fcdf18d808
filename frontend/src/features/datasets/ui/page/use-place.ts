import { useCallback } from "react";
import { useAddress } from "@/components/use-address";
import { moved, type Place, readPlace, writePlace } from "@/features/datasets/model/place";

/** Where in a dataset the page is, kept in the address so that a link shows the same. */
export function usePlace(): [Place, Go] {
  const [params, setParams] = useAddress();
  const go = useCallback<Go>(
    (change, push) => setParams((before) => writePlace(moved(readPlace(before), change)), push),
    [setParams],
  );
  return [readPlace(params), go];
}

/** Changes the place. With `push` the browser's back button comes back here. */
export type Go = (change: Partial<Place>, push?: boolean) => void;
