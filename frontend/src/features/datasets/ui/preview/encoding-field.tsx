import { useId } from "react";
import styles from "./preview.module.css";

/** The usual encodings besides UTF-8, by the platform's names. */
const ENCODINGS: readonly (readonly [string, string])[] = [
  ["cp1252", "Windows-1252 – Western European"],
  ["iso8859-1", "ISO 8859-1 – Western European"],
  ["iso8859-15", "ISO 8859-15 – Western European"],
  ["cp437", "DOS – Western European"],
  ["mac-roman", "Mac – Western European"],
  ["cp1250", "Windows-1250 – Central European"],
  ["iso8859-2", "ISO 8859-2 – Central European"],
  ["cp1251", "Windows-1251 – Cyrillic"],
  ["koi8-r", "KOI8-R – Cyrillic"],
  ["cp1253", "Windows-1253 – Greek"],
  ["cp1254", "Windows-1254 – Turkish"],
  ["cp1255", "Windows-1255 – Hebrew"],
  ["cp1256", "Windows-1256 – Arabic"],
  ["gb18030", "GB 18030 – Chinese, simplified"],
  ["big5", "Big5 – Chinese, traditional"],
  ["cp932", "Shift JIS, cp932 – Japanese"],
  ["euc_jp", "EUC-JP – Japanese"],
  ["cp949", "cp949 – Korean"],
  ["utf-16-le", "UTF-16, little-endian"],
  ["utf-16-be", "UTF-16, big-endian"],
];

interface Props {
  /** Null: as it is detected. */
  encoding: string | null;
  onChange: (encoding: string | null) => void;
}

/** The encoding of the file's text, where the platform does not find it by itself. */
export function EncodingField({ encoding, onChange }: Props) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>Text encoding</label>
      <select id={id} value={encoding ?? ""} onChange={(event) => onChange(event.target.value || null)}>
        <option value="">UTF-8, or as detected</option>
        {ENCODINGS.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}
