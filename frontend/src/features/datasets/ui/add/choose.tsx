import { useEffect } from "react";
import { useNavigate } from "react-router";
import { PageTitle } from "@/components/page-title";
import { DropZone } from "@/features/datasets/ui/add/drop-zone";
import { Examples } from "@/features/datasets/ui/add/examples";
import { FromUrl } from "@/features/datasets/ui/add/from-url";
import { TransferCard } from "@/features/datasets/ui/add/transfer-card";
import { Unfinished } from "@/features/datasets/ui/add/unfinished";
import { useDropAnywhere } from "@/features/datasets/ui/add/use-drop-anywhere";
import { addFiles, transfers, useTransfers } from "@/features/datasets/ui/add/use-transfers";
import { paths } from "@/lib/paths";
import styles from "./add.module.css";

/** First step: a file, or an address to fetch it from. */
export function Choose() {
  const list = useTransfers();
  const over = useDropAnywhere(addFiles);
  const navigate = useNavigate();
  const [only] = list;
  // A single file that has arrived is looked at at once; of several, the user says which.
  const arrived = list.length === 1 && only?.state === "done" ? only : null;
  useEffect(() => {
    if (!arrived?.uploadId) return;
    transfers.dismiss(arrived.key);
    void navigate(paths.upload(arrived.uploadId), { replace: true });
  }, [arrived, navigate]);
  return (
    <>
      <PageTitle title="Add data" />
      <div className={styles.choose}>
        <DropZone over={over} onFiles={addFiles} />
        {list.length > 0 && (
          <ul className={styles.transfers} aria-label="Uploads">
            {list.map((transfer) => (
              <TransferCard key={transfer.key} transfer={transfer} />
            ))}
          </ul>
        )}
        <FromUrl />
        <Unfinished />
        <Examples />
      </div>
    </>
  );
}
