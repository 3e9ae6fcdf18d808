/** Writes a Brotli and a gzip copy beside each text file in dist/assets. The API sends them to browsers that accept them. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { URL } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

const folder = new URL("./dist/assets/", import.meta.url);
const SMALLEST_BYTES = 500;

for (const name of readdirSync(folder).filter((name) => /\.(js|css|svg)$/.test(name))) {
  const content = readFileSync(new URL(name, folder));
  if (content.length < SMALLEST_BYTES) continue;
  writeFileSync(new URL(`${name}.br`, folder), brotliCompressSync(content));
  writeFileSync(new URL(`${name}.gz`, folder), gzipSync(content, { level: 9 }));
}
