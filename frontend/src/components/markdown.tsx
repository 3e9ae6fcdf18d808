import ReactMarkdown, { type Components } from "react-markdown";
import { type MarkdownPart, markdownParts } from "@/lib/markdown-tables";
import styles from "./markdown.module.css";

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer nofollow">
      {children}
    </a>
  ),
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
};
/** A cell holds one line, so its paragraph is no block. */
const IN_CELL: Components = { ...COMPONENTS, p: ({ children }) => <>{children}</> };

/** Markdown of a user, with tables. HTML in it stays text, pictures are left out, and links open in a new tab. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className={styles.markdown}>
      {markdownParts(text).map((part, index) =>
        "text" in part ? (
          <ReactMarkdown key={index} disallowedElements={["img"]} components={COMPONENTS}>
            {part.text}
          </ReactMarkdown>
        ) : (
          <TableOf key={index} table={part} />
        ),
      )}
    </div>
  );
}

function TableOf({ table: { head, align, rows } }: { table: Exclude<MarkdownPart, { text: string }> }) {
  return (
    // The focus lets the arrow keys scroll a table that is wider than the text.
    <div className={styles.table} role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col" style={{ textAlign: align[index] }}>
                <Cell text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>
              {row.map((cell, index) => (
                <td key={index} style={{ textAlign: align[index] }}>
                  <Cell text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const Cell = ({ text }: { text: string }) => (
  <ReactMarkdown disallowedElements={["img"]} components={IN_CELL}>
    {text}
  </ReactMarkdown>
);
