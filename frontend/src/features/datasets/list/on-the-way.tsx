import addStyles from "@/features/datasets/add/add.module.css";
import { TransferCard } from "@/features/datasets/add/transfer-card";
import { useTransfers } from "@/features/datasets/add/use-transfers";
import styles from "@/features/datasets/datasets.module.css";

/** Uploads go on while the list is looked at. */
export function OnTheWay() {
  const list = useTransfers();
  if (!list.length) return null;
  return (
    <ul className={`${addStyles.transfers} ${styles.onTheWay}`} aria-label="Uploads">
      {list.map((transfer) => (
        <TransferCard key={transfer.key} transfer={transfer} />
      ))}
    </ul>
  );
}
