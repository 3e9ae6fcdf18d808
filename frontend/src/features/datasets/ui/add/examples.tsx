import { useQuery } from "@tanstack/react-query";
import { formatsQuery } from "@/features/datasets/api/imports";
import { KINDS } from "@/features/datasets/model/kinds";
import type { DatasetFormat } from "@/lib/api/types";
import styles from "./add.module.css";

/** Kinds of data, each with the formats that are recognised by their columns. */
export function Examples() {
  const formats = useQuery(formatsQuery);
  if (!formats.data) return null;
  return (
    <section className={styles.known} aria-labelledby="known-files">
      <h2 id="known-files">Known formats</h2>
      <p>The format is detected from the columns, not from the name. For other columns, you map them to fields.</p>
      {KINDS.map((kind) => (
        <div key={kind.id} className={styles.kind}>
          <h3>{kind.label}</h3>
          <p>{kind.use}</p>
          <ul>
            {formats.data
              .filter(({ kinds }) => kinds[0] === kind.id || (kind.id === "thumbs" && kinds.includes(kind.id)))
              .map((format) => (
                <Known key={format.id} format={format} />
              ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function Known({ format }: { format: DatasetFormat }) {
  return (
    <li>
      <details>
        <summary>{format.title}</summary>
        <p>{format.about.replaceAll("`", "")}</p>
        <Records title="In the file" records={format.example} />
        <Records title="Stored form" records={format.becomes} />
        {format.source && (
          <a href={format.source} target="_blank" rel="noreferrer">
            Where it is described
          </a>
        )}
      </details>
    </li>
  );
}

function Records({ title, records }: { title: string; records: readonly object[] }) {
  return (
    <figure>
      <figcaption>{title}</figcaption>
      {records.map((record, index) => (
        <code key={index}>{JSON.stringify(record)}</code>
      ))}
    </figure>
  );
}
