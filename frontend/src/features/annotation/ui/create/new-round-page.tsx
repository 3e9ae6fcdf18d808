import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { ErrorNotice } from "@/components/notice";
import { PageHeader } from "@/components/page-header";
import { Skeleton } from "@/components/status";
import { draftOfDataset, draftOfJob, emptyDraft } from "@/features/annotation/model/draft";
import { bareDataset } from "@/features/annotation/model/dataset-reference";
import { RoundForm } from "@/features/annotation/ui/create/round-form";
import { datasetQuery } from "@/features/datasets/api/datasets";
import { checkpointsQuery, goodOnes, jobQuery } from "@/features/jobs/api";
import { paths } from "@/lib/address";
import styles from "./create.module.css";

/** A new round, filled in from the job or the dataset that the address names. */
export function NewRoundPage() {
  const [params] = useSearchParams();
  const [job, dataset] = [params.get("job"), params.get("dataset")];
  return (
    <div className={styles.page}>
      <PageHeader title="New round" parent={{ to: paths.rounds, label: "Annotate" }} />
      {job ? <OfJob id={job} /> : dataset ? <OfDataset reference={dataset} /> : <RoundForm start={emptyDraft} />}
    </div>
  );
}

function OfJob({ id }: { id: string }) {
  const job = useQuery(jobQuery(id));
  const checkpoints = useQuery(checkpointsQuery(id));
  const error = job.error ?? checkpoints.error;
  if (error) return <ErrorNotice error={error} doing="read the job" onRetry={() => void job.refetch()} />;
  if (!job.data || !checkpoints.data) return <Skeleton rows={5} height="2.5rem" label="Loading the job" />;
  return <RoundForm start={draftOfJob(job.data, goodOnes(checkpoints.data))} job={job.data} />;
}

function OfDataset({ reference }: { reference: string }) {
  const query = useQuery(datasetQuery(bareDataset(reference)));
  if (query.isPending) return <Skeleton rows={5} height="2.5rem" label="Loading the dataset" />;
  if (query.isError) {
    return <ErrorNotice error={query.error} doing="read the dataset" onRetry={() => void query.refetch()} />;
  }
  return <RoundForm start={draftOfDataset(query.data.kind, reference)} />;
}
