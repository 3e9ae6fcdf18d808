/** Writes the sample data, which the demo's generator in Python makes, into public/samples. An image has it there already. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath, URL } from "node:url";

const folder = fileURLToPath(new URL("./public/samples", import.meta.url));
const cwd = fileURLToPath(new URL("..", import.meta.url));
const words = ["-m", "examples.reviews.generate", folder, "--samples"];
const done = spawnSync(process.env.PYTHON ?? "python3", words, { cwd, encoding: "utf8" });

if (done.status !== 0 && !existsSync(folder))
  process.stderr.write(`The dashboard gets no sample data, and offers none: ${done.error ?? done.stderr}\n`);
