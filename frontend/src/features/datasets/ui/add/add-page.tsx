import { useSearchParams } from "react-router";
import { Choose } from "@/features/datasets/ui/add/choose";
import { Review } from "@/features/datasets/ui/preview/review";

/** From a file to a dataset: choose it, look at what it was taken for, confirm. The address holds the upload. */
export function AddPage() {
  const [params] = useSearchParams();
  const upload = params.get("upload");
  return upload ? <Review key={upload} id={upload} /> : <Choose />;
}
