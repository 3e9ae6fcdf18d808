import { useMutation, useQueryClient } from "@tanstack/react-query";
import { roundQuery, roundsKey } from "@/features/annotation/api";
import type { Round } from "@/lib/api/types";

/** A request that answers with the round as it is now. */
export function useRoundChange<T>(id: string, change: (argument: T) => Promise<Round>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (round) => client.setQueryData(roundQuery(id).queryKey, round),
    // Refused, it has become something else meanwhile; and the list shows the round too.
    onSettled: () => void client.invalidateQueries({ queryKey: roundsKey }),
  });
}
