import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "react-router";
import { buttonClass } from "@/components/button";
import { Facts, PageHeader } from "@/components/page-header";
import { StatusBadge } from "@/components/status";
import { TimeAgo } from "@/components/text";
import { bareDataset, versionOf } from "@/features/annotation/model/dataset-reference";
import { policyName } from "@/features/annotation/model/policy-name";
import { sourceInWords } from "@/features/annotation/model/round";
import { CloseButton, DeleteButton, PauseButton } from "@/features/annotation/ui/round/round-actions";
import { datasetQuery } from "@/features/datasets/api/datasets";
import { JobLink } from "@/components/job-link";
import { paths } from "@/lib/address";
import type { Round, RoundPolicy } from "@/lib/api/types";
import { count } from "@/lib/format";
import { Instructions } from "@/features/annotation/ui/instructions";
import styles from "./round.module.css";

export function RoundHeader({ round }: { round: Round }) {
  const { status } = round;
  const takesAnswers = status === "open" || status === "paused";
  return (
    <PageHeader
      title={round.name}
      parent={{ to: paths.rounds, label: "Annotate" }}
      badge={<StatusBadge status={status} />}
      actions={
        <>
          {takesAnswers && <PauseButton round={round} />}
          {takesAnswers && round.answers > 0 && <CloseButton round={round} />}
          {status !== "closing" && <DeleteButton round={round} />}
          {status === "open" && (
            <Link className={`${buttonClass("primary")} ${styles.first}`} to={paths.queue(round.id)}>
              Start annotating
            </Link>
          )}
        </>
      }
    >
      <RoundFacts round={round} />
      {round.instructions && <Instructions text={round.instructions} className={styles.instructions} />}
    </PageHeader>
  );
}

function RoundFacts({ round }: { round: Round }) {
  const { source, policies } = round;
  return (
    <Facts>
      <span>{sourceInWords(round)}</span>
      <span>
        {source.type === "dataset" ? "from " : "prompts of "}
        <DatasetLink reference={source.type === "dataset" ? source.dataset : source.prompts} />
      </span>
      {policies && (
        <span>
          {policies.length > 1 ? "compares " : "written by "}
          {policies.map((policy, index) => (
            <Fragment key={index}>
              {index > 0 && (index === policies.length - 1 ? " and " : ", ")}
              <PolicyName policy={policy} />
            </Fragment>
          ))}
        </span>
      )}
      <span>{count(round.overlap, "annotator")} per item</span>
      {round.gold_items > 0 && <span>{count(round.gold_items, "gold question")}</span>}
      {round.left_out > 0 && (
        <span title={WHY_LEFT_OUT}>{count(round.left_out, source.type === "dataset" ? "row" : "prompt")} left out</span>
      )}
      {round.cut_off > 0 && (
        <span title={WHAT_IS_CUT_OFF}>{count(round.cut_off, "item")} with an answer that was cut off</span>
      )}
      <span>
        created <TimeAgo time={round.created_at} />
      </span>
    </Facts>
  );
}

const WHAT_IS_CUT_OFF = "It reached the longest length. A reward model learns it as if it had ended there.";
const WHY_LEFT_OUT = "Too long, or answered with the same by all.";

/** A policy by its job and its place in it, so that no two of a round are called the same. */
export function PolicyName({ policy }: { policy: RoundPolicy }) {
  const name = policyName(policy);
  return policy.job ? <JobLink id={policy.job}>{`: ${name}`}</JobLink> : <>{name}</>;
}

/** A dataset by its name; `reference` may name a version: "ds_…@2". */
export function DatasetLink({ reference }: { reference: string }) {
  const id = bareDataset(reference);
  const version = versionOf(reference);
  const query = useQuery(datasetQuery(id));
  const name = query.data?.name ?? (query.isError ? "a dataset that was deleted" : "…");
  return (
    <Link to={version === null ? paths.dataset(id) : paths.datasetVersion(id, version)}>
      {name}
      {version !== null && `, version ${version}`}
    </Link>
  );
}
