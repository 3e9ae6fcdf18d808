import { useEffect, useState } from "react";
import { useNavigate } from "react-router";
import { transfers } from "@/features/datasets/add/use-transfers";
import { paths } from "@/lib/paths";

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

/** Files may be dropped anywhere on the page; whether some are being held over it. */
export function useDropAnywhere(): boolean {
  const [over, setOver] = useState(false);
  const navigate = useNavigate();
  useEffect(() => {
    const drag = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      // Out of the window, and not merely from one element to the next.
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      for (const file of event.dataTransfer?.files ?? []) transfers.add(file);
      void navigate(paths.newDataset);
    };
    document.addEventListener("dragover", drag);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", drag);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  }, [navigate]);
  return over;
}
