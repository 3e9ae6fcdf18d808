import { useEffect } from "react";
import { useNavigate } from "react-router";
import { PageTitle } from "@/components/page-title";
import styles from "@/features/datasets/add/add.module.css";
import { DropZone } from "@/features/datasets/add/drop-zone";
import { Examples } from "@/features/datasets/add/examples";
import { FromUrl } from "@/features/datasets/add/from-url";
import { TransferCard } from "@/features/datasets/add/transfer-card";
import { Unfinished } from "@/features/datasets/add/unfinished";
import { useDropAnywhere } from "@/features/datasets/add/use-drop-anywhere";
import { addFiles, transfers, useTransfers } from "@/features/datasets/add/use-transfers";
import { paths } from "@/lib/paths";

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
