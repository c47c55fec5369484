/** Folders for tests. They go when the test process ends. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = mkdtempSync(join(tmpdir(), "guard-test-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

/** Returns a new, empty folder. */
export function scratchFolder(): string {
  return mkdtempSync(join(root, "x-"));
}
