import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { cancelCheck, isUnfinished, requestQuery, type Validation, validationQuery } from "@/features/job-form/api";
import { findingProblems, missingParts, type Problem, problemsOf } from "@/features/job-form/model/problems";
import type { JsonObject } from "@/features/job-form/model/spec";

const PAUSE_MS = 600;

export interface Check {
  /** The last check; of an earlier state of the form while `isChecking`. */
  readonly validation: Validation | undefined;
  readonly isChecking: boolean;
  /** The parts that the user has to choose before the server can check the spec. */
  readonly missing: readonly Problem[];
  /** The fields whose texts cannot be read. They block the submission. */
  readonly unreadable: readonly Problem[];
  /** All problems, the unreadable fields first. */
  readonly problems: readonly Problem[];
  /** Why no check was made, where the reason is not the spec. */
  readonly error: Error | null;
  readonly isBlocked: boolean;
  readonly isCancelled: boolean;
  /** Ends the check that runs. */
  readonly cancel: () => void;
  /** Checks the same spec once more. */
  readonly again: () => void;
}

/** The value after a pause in its changes. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/**
 * Checks the spec on the server after each pause in its changes. `isAsked`: the user has tried to submit it. `refused`: the
 * problems for which the server refused this spec.
 */
export function useCheck(
  spec: JsonObject,
  isAsked: boolean,
  unreadable: readonly Problem[],
  refused: readonly Problem[],
): Check {
  const settled = useSettled(spec);
  const missing = missingParts(spec);
  const request = useQuery(requestQuery(missing.length ? null : settled));
  const followed = useQuery(validationQuery(request.data));
  const isOwn = followed.data?.id === request.data?.id;
  const validation = isUnfinished(request.data) && followed.data && isOwn ? followed.data : request.data;
  const result = validation?.result;
  const { cancel, again } = useCancelled(isUnfinished(request.data) ? request.data : undefined, validation);
  const faults = problemsOf(request.error);
  if (missing.length) {
    const problems = [...unreadable, ...(isAsked ? missing : [])];
    const nothing = { validation: undefined, isChecking: false, error: null, isBlocked: false, isCancelled: false };
    return { ...nothing, missing, unreadable, problems, cancel, again };
  }
  const found = request.error ? faults : result ? findingProblems(result.findings) : [];
  const others = unreadable.length ? found.filter(({ path }) => unreadable.every((one) => one.path !== path)) : found;
  return {
    validation,
    isChecking: settled !== spec || request.isFetching || isUnfinished(validation),
    missing,
    unreadable,
    problems: [...unreadable, ...(found.length ? others : refused)],
    error: request.error && !faults.length ? request.error : followed.error,
    isBlocked: !request.error && validation?.blocked === true,
    isCancelled: validation?.status === "cancelled",
    cancel,
    again,
  };
}

/** Cancels a check that another one supersedes, or whose page is left. `requested`: the check as it was requested. */
function useCancelled(requested: Validation | undefined, now: Validation | undefined) {
  const client = useQueryClient();
  const id = requested?.id;
  const isOpen = useRef(false);
  useEffect(() => {
    isOpen.current = isUnfinished(now);
  });
  useEffect(() => {
    if (!id) return;
    const leave = () => {
      if (!isOpen.current) return;
      void cancelCheck(id);
      client.removeQueries({ queryKey: ["job-form", "check"], predicate: ({ state }) => idOf(state.data) === id });
    };
    window.addEventListener("pagehide", leave);
    return () => {
      window.removeEventListener("pagehide", leave);
      leave();
    };
  }, [id, client]);
  const store = (found: Validation | null) => {
    const own = {
      queryKey: ["job-form", "check"],
      predicate: (one: { state: { data?: unknown } }) => idOf(one.state.data) === id,
    };
    if (found) client.setQueriesData(own, found);
  };
  return {
    cancel: () => void (id && cancelCheck(id).then(store)),
    again: () => void client.invalidateQueries({ queryKey: ["job-form", "check"], refetchType: "active" }),
  };
}

const idOf = (data: unknown): unknown => (data as Validation | undefined)?.id;
