import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { PageError } from "@/components/notice";
import { Skeleton } from "@/components/status";
import { groupQuery } from "@/features/groups/api";
import { specOf } from "@/features/job-form/model/recipe";
import { recipesQuery, schemaQuery, templateQuery } from "@/features/job-form/api";
import { readDraft } from "@/features/job-form/model/draft";
import { derivedName, originSpec, type Start, withChanges } from "@/features/job-form/model/origin";
import { ADDRESS, type UnreadableTexts } from "@/features/job-form/model/problems";
import { defaultsOf, fieldsOf, withoutDefaults } from "@/features/job-form/model/schema";
import type { JsonObject } from "@/features/job-form/model/spec";
import { QUEUEING } from "@/features/job-form/model/submission";
import { NO_OPTIONS } from "@/features/job-form/model/sweep";
import { JobForm } from "@/features/job-form/ui/job-form";
import { canBranch, checkpointsQuery, jobQuery } from "@/features/jobs/api";
import { paths, useAddress } from "@/lib/address";

const PARENT = { to: paths.jobs, label: "Jobs" };

/** The form of a new job. The address names its start: a job to clone or to branch, a template, a recipe, a dataset, or a group. */
export function NewJobPage() {
  const [params] = useAddress();
  const [clone, branch] = [params.get("clone"), params.get("branch")];
  const from = clone ?? branch;
  const schema = useQuery(schemaQuery);
  const job = useQuery({ ...jobQuery(from ?? ""), enabled: from !== null });
  const checkpoints = useQuery({ ...checkpointsQuery(branch ?? ""), enabled: branch !== null });
  const templateId = params.get("template");
  const template = useQuery({ ...templateQuery(templateId ?? ""), enabled: templateId !== null });
  const recipeName = params.get("recipe");
  const recipes = useQuery({ ...recipesQuery, enabled: recipeName !== null });
  const recipe = recipes.data?.find(({ name }) => name === recipeName);
  const groupId = params.get("group");
  const group = useQuery({ ...groupQuery(groupId ?? ""), enabled: groupId !== null });
  const missing =
    recipeName !== null && recipes.data && !recipe ? new Error(`There is no recipe ${recipeName}.`) : null;
  const error =
    group.error ?? template.error ?? recipes.error ?? missing ?? schema.error ?? job.error ?? checkpoints.error;
  if (error) {
    const retry = () => void schema.refetch();
    const subject = group.error ? "Group" : template.error ? "Template" : job.error ? "Job" : "New job";
    return <PageError subject={subject} parent={PARENT} error={error} doing="prepare the form" onRetry={retry} />;
  }
  const isLoading = !schema.data || (from !== null && !job.data) || (branch !== null && !checkpoints.data);
  if (
    isLoading ||
    (recipeName !== null && !recipe) ||
    (templateId !== null && !template.data) ||
    (groupId !== null && !group.data)
  )
    return <Skeleton rows={8} height="2.25rem" label="Loading the form" />;
  const wanted = params.get("checkpoint") ?? "newest";
  const resumable = (checkpoints.data ?? []).filter((one) => !one.final && canBranch(one));
  const checkpoint =
    (checkpoints.data ?? []).find(({ id }) => id === wanted) ?? resumable[0] ?? checkpoints.data?.[0] ?? null;
  const start: Start = job.data
    ? { job: job.data, checkpoint: branch === null ? null : checkpoint, group: null }
    : { job: null, checkpoint: null, group: group.data ?? null };
  return (
    <Prepared
      key={window.location.search}
      schema={schema.data}
      start={start}
      template={recipe ? specOf(recipe) : ((template.data?.spec ?? null) as JsonObject | null)}
      params={params}
    />
  );
}

interface PreparedProps {
  schema: JsonObject;
  start: Start;
  /** The spec of a template or recipe. */
  template: JsonObject | null;
  params: URLSearchParams;
}

function Prepared({ schema, start, template, params }: PreparedProps) {
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const defaultOf = useMemo(() => defaultsOf(fields), [fields]);
  // The form begins once; later changes of the job do not take back what was written.
  const [begun] = useState(() => {
    const base = start.job ? originSpec(start.job, start.checkpoint, fields) : null;
    const draft = base || template ? null : readDraft();
    const name = derivedName(start.job?.name ?? "", start.checkpoint ? "branch" : "copy");
    const fresh = base && name ? { ...base, name } : base;
    const spec = fresh ?? (template && withoutDefaults(template, fields)) ?? draft?.spec ?? {};
    const changed = changedBy(params.get("set"), spec);
    return {
      base,
      fresh: fresh ?? {},
      spec: changed.spec,
      variations: draft?.variations ?? {},
      options: draft?.options ?? NO_OPTIONS,
      unreadable: { ...draft?.unreadable, ...changed.unreadable },
      queueing: { ...QUEUEING, ...draft?.queueing, group: start.group?.id ?? null },
    };
  });
  return (
    <JobForm
      schema={schema}
      fields={fields}
      defaultOf={defaultOf}
      start={start}
      begun={begun}
      dataset={params.get("dataset")}
    />
  );
}

/** The spec with the changes of the address. Changes that cannot be read are kept as such, and block the submission. */
function changedBy(text: string | null, spec: JsonObject): { spec: JsonObject; unreadable: UnreadableTexts } {
  try {
    return { spec: withChanges(spec, text), unreadable: {} };
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error);
    return { spec, unreadable: { [ADDRESS]: { text: text ?? "", fault } } };
  }
}
