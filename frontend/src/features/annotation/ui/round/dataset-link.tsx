import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { bareDataset, versionOf } from "@/features/annotation/model/round";
import { datasetQuery } from "@/features/datasets/api/datasets";
import { paths } from "@/lib/paths";

/** A dataset by its name; `reference` may name a version: "ds_…@2". */
export function DatasetLink({ reference }: { reference: string }) {
  const id = bareDataset(reference);
  const version = versionOf(reference);
  const query = useQuery(datasetQuery(id));
  const name = query.data?.name ?? id;
  return (
    <Link to={version === null ? paths.dataset(id) : paths.datasetVersion(id, version)}>
      {name}
      {version !== null && `, version ${version}`}
    </Link>
  );
}
