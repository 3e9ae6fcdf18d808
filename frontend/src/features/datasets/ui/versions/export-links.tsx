import { useId } from "react";
import { Button } from "@/components/button";
import { DownloadIcon } from "@/components/icons";
import { exportAddress, EXPORTS } from "@/features/datasets/api/datasets";
import styles from "./versions.module.css";

/** Downloads of a version in every form. The browser's own popover brings Escape and closing by a click elsewhere. */
export function ExportLinks({ datasetId, version }: { datasetId: string; version: number }) {
  const id = useId();
  const anchorName = `--export${id.replaceAll(/[^a-zA-Z0-9]/g, "")}`;
  return (
    <>
      <Button popoverTarget={id} style={{ anchorName }}>
        <DownloadIcon /> Export<span className="visually-hidden"> version {version}</span>
      </Button>
      <div id={id} popover="auto" className={styles.menu} style={{ positionAnchor: anchorName }}>
        <ul>
          {EXPORTS.map(({ format, label, note }) => (
            <li key={format}>
              <a href={exportAddress(datasetId, version, format)} download>
                <b>{label}</b>
                <small>{note}</small>
              </a>
            </li>
          ))}
        </ul>
        <p>Ties, rankings and unlabelled pairs that a form has no place for are left out of it.</p>
      </div>
    </>
  );
}
