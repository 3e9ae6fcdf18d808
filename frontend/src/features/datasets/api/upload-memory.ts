import { readText, writeText } from "@/lib/stored";

// Which upload a file belongs to, so that the page may be left and opened again. A file that was changed has another
// time, and is another file.
const key = (file: File) => `upload:${file.size}:${file.lastModified}:${file.name}`;

/** The id of the upload that this file was begun with. */
export const remembered = (file: File): string | null => readText(key(file));

export const remember = (file: File, id: string) => writeText(key(file), id);

export function forget(file: File): void {
  try {
    localStorage.removeItem(key(file));
  } catch {
    // Blocked: then nothing was remembered either.
  }
}
