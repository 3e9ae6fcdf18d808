import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { isUnfinished, requestQuery, type Validation, validationQuery } from "@/features/job-form/api";
import { findingProblems, missingParts, type Problem, problemsOf } from "@/features/job-form/model/problems";
import type { JsonObject } from "@/features/job-form/model/spec";

const PAUSE_MS = 600;

export interface Check {
  /** The last check; of an earlier state of the form while `isChecking`. */
  readonly validation: Validation | undefined;
  readonly isChecking: boolean;
  /** The parts that the user has to choose before the server can check the spec. */
  readonly missing: readonly Problem[];
  readonly problems: readonly Problem[];
  /** Why no check was made, where the reason is not the spec. */
  readonly error: Error | null;
  readonly isBlocked: boolean;
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

/** Checks the spec on the server after each pause in its changes. `isAsked`: the user has tried to submit it. */
export function useCheck(spec: JsonObject, isAsked: boolean): Check {
  const settled = useSettled(spec);
  const missing = missingParts(spec);
  const request = useQuery(requestQuery(missing.length ? null : settled));
  const followed = useQuery(validationQuery(request.data));
  const isOwn = followed.data?.id === request.data?.id;
  const validation = isUnfinished(request.data) && followed.data && isOwn ? followed.data : request.data;
  const result = validation?.result;
  const refused = problemsOf(request.error);
  if (missing.length) {
    const problems = isAsked ? missing : [];
    return { validation: undefined, isChecking: false, missing, problems, error: null, isBlocked: false };
  }
  return {
    validation,
    isChecking: settled !== spec || request.isFetching || isUnfinished(validation),
    missing,
    problems: request.error ? refused : result ? findingProblems(result.findings) : [],
    error: request.error && !refused.length ? request.error : followed.error,
    isBlocked: !request.error && validation?.blocked === true,
  };
}
