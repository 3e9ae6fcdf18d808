import { useEffect, useMemo, useState } from "react";
import { Button } from "@/components/button";
import { PageHeader } from "@/components/page-header";
import { discardDraft } from "@/features/job-form/model/draft";
import { found, sectionsOf, stagesIn } from "@/features/job-form/model/layout";
import { parentOf, type Start as Origin } from "@/features/job-form/model/origin";
import { type Problem, unreadableProblems } from "@/features/job-form/model/problems";
import { type Field, leaves, withoutDefaults } from "@/features/job-form/model/schema";
import { differences, type Json, type JsonObject, mergePatch, same } from "@/features/job-form/model/spec";
import { QUEUEING, type Queueing, submissionOf } from "@/features/job-form/model/submission";
import { drawsOf, faultsOf, NO_OPTIONS, sweepOf, type SweepOptions, sweepSpec } from "@/features/job-form/model/sweep";
import { CheckBar, CheckPanel } from "@/features/job-form/ui/check-panel";
import { Fields } from "@/features/job-form/ui/fields";
import { FormContext, type FormState } from "@/features/job-form/ui/form-context";
import { DataPicker, StagePicker } from "@/features/job-form/ui/pickers";
import { ModelPicker } from "@/features/job-form/ui/model-picker";
import { Offer } from "@/features/job-form/ui/offer";
import { Section } from "@/features/job-form/ui/section";
import { SpecDialog } from "@/features/job-form/ui/spec-dialog";
import { Start } from "@/features/job-form/ui/start";
import { Submit } from "@/features/job-form/ui/submit";
import { SweepCard } from "@/features/job-form/ui/sweep-card";
import { NameField, Origins } from "@/features/job-form/ui/origins";
import { useDataset, useDraft } from "@/features/job-form/ui/use-stored";
import { showField } from "@/features/job-form/ui/problem-list";
import { type Begun, useSpec } from "@/features/job-form/ui/use-spec";
import { useCheck } from "@/features/job-form/ui/use-check";
import { count } from "@/lib/format";
import styles from "./form.module.css";

interface JobFormProps {
  schema: JsonObject;
  fields: readonly Field[];
  defaultOf: (path: string) => Json | undefined;
  start: Origin;
  begun: Begun;
  /** A dataset that the job trains on. */
  dataset: string | null;
}

export function JobForm({ schema, fields, defaultOf, start, begun, dataset }: JobFormProps) {
  const content = useSpec(begun, fields);
  const { spec, set, unreadable, variations, setVariations, replace } = content;
  const [options, setOptions] = useState<SweepOptions>(begun.options);
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(false);
  const [queueing, setQueueing] = useState<Queueing>(begun.queueing);
  const [refusal, setRefusal] = useState<{ spec: JsonObject; problems: readonly Problem[] } | null>(null);
  const [goal, setGoal] = useState<{ path: string } | null>(null);
  /** Whether the user tried to submit. Until then the form does not complain about fields that are not filled in yet. */
  const [asked, setAsked] = useState(false);
  const { base, fresh } = begun;
  useEffect(() => {
    if (goal) showField(goal.path);
  }, [goal]);
  useDataset(dataset, set);
  useDraft(base === null, spec, variations, options, unreadable, queueing);

  const byPath = useMemo(() => new Map(leaves(fields).map((leaf) => [leaf.path, leaf])), [fields]);
  const plan = sweepOf(variations ?? {}, byPath, drawsOf(options));
  const sweep = sweepSpec(plan, spec, options);
  const faults =
    variations === null ? [] : [...unreadableProblems(plan.faults), ...unreadableProblems(faultsOf(options))];
  const blocking = [...unreadableProblems(unreadable), ...faults];
  const check = useCheck(spec, asked, blocking, refusal?.spec === spec ? refusal.problems : []);
  const patch = base ? mergePatch(base, spec) : {};
  const submission = submissionOf(start, spec, patch, sweep, queueing);
  const state: FormState = {
    ...content,
    schema,
    base,
    goal,
    reveal: (path) => {
      setSearch("");
      setGoal({ path });
    },
    problems: check.problems,
    variationFaults: plan.faults,
  };
  const take = (taken: JsonObject) => replace(withoutDefaults(taken, fields));
  const changes = differences(base ?? {}, spec).length;
  const matches = search.trim() ? found(fields, search) : null;
  return (
    <FormContext value={state}>
      <PageHeader
        title={start.checkpoint ? "Branch a job" : start.job ? "Clone a job" : "New job"}
        parent={parentOf(start)}
        actions={
          <Start spec={spec} unreadable={blocking} onSpec={take}>
            {start.checkpoint === null && (
              <Button aria-pressed={variations !== null} onClick={() => setVariations(variations === null ? {} : null)}>
                {variations === null ? "Make a sweep" : "One job only"}
              </Button>
            )}
            <Button onClick={() => setShown(true)}>
              {changes ? `${count(changes, "change")}: copy or export…` : "Copy or export…"}
            </Button>
            {(!same(spec, fresh) || Object.keys(unreadable).length > 0) && (
              <Button
                look="quiet"
                onClick={() => {
                  replace(fresh);
                  setVariations(null);
                  setOptions(NO_OPTIONS);
                  setQueueing({ ...QUEUEING, group: queueing.group });
                  setAsked(false);
                  discardDraft();
                }}
              >
                Discard
              </Button>
            )}
          </Start>
        }
      >
        <Origins start={start} />
      </PageHeader>
      <div className={styles.page}>
        <form className={styles.form} onSubmit={(event) => event.preventDefault()} aria-label="Spec of the job">
          <NameField spec={spec} set={set} />
          <StagePicker />
          <label className={styles.search}>
            <span className="visually-hidden">Search the settings</span>
            <input
              type="search"
              placeholder="Search the settings, such as KL or batch"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
          </label>
          {variations && (
            <SweepCard
              plan={plan}
              sweep={check.missing.length ? null : sweep}
              options={options}
              onChange={setOptions}
            />
          )}
          {matches ? (
            <section className={styles.section}>
              <h2>{count(leaves(matches).length || matches.length, "setting")} found</h2>
              <Fields fields={matches} />
            </section>
          ) : (
            sectionsOf(fields, stagesIn(spec)).map((section) => (
              <Section key={section.id} section={section}>
                {section.id === "model" && <ModelPicker fields={fields} />}
                {section.id === "data" && <DataPicker />}
                {section.id === "ppo" && <Offer defaultOf={defaultOf} />}
              </Section>
            ))
          )}
        </form>
        <CheckPanel check={check}>
          <Submit
            check={check}
            onRefused={(problems) => setRefusal({ spec, problems })}
            start={start}
            spec={spec}
            patch={patch}
            sweep={sweep}
            isSweep={Object.keys(variations ?? {}).length > 0}
            jobs={plan.jobs}
            queueing={queueing}
            onQueueing={setQueueing}
            onIncomplete={() => setAsked(true)}
          />
        </CheckPanel>
        <CheckBar check={check} />
      </div>
      {shown && (
        <SpecDialog
          spec={spec}
          base={base}
          defaultOf={defaultOf}
          unreadable={blocking}
          submission={submission}
          onClose={() => setShown(false)}
        />
      )}
    </FormContext>
  );
}
