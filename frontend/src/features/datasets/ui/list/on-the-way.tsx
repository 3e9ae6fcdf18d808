import { TransferCard } from "@/features/datasets/ui/add/transfer-card";
import { useTransfers } from "@/features/datasets/ui/add/use-transfers";
import addStyles from "@/features/datasets/ui/add/add.module.css";
import styles from "@/features/datasets/ui/datasets.module.css";

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
