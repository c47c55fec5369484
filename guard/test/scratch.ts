/** Folders for tests, all in one that goes at the end. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = mkdtempSync(join(tmpdir(), "guard-test-"));

/** Returns a new, empty folder. */
export function scratchFolder(): string {
  return mkdtempSync(join(root, "x-"));
}

/** Removes every scratch folder. */
export function removeScratchFolders(): void {
  rmSync(root, { recursive: true, force: true });
}
