import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder } from "../scratch.ts";

const here = import.meta.dir;
const patches = readdirSync(here).filter((name) => name.endsWith(".patch"));

/** The clauses from INF-`first` to INF-`last`. */
function clauses(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_unused, index) => `INF-${String(first + index).padStart(2, "0")}`);
}

describe("deliberate faults", () => {
  test("every clause has one", () => {
    const wanted = [...clauses(1, 15), ...clauses(20, 41), ...clauses(50, 54), ...clauses(60, 65), "NO-OP"];
    expect(patches.toSorted()).toEqual(wanted.map((clause) => `${clause}.patch`));
  });

  // A folder of its own: inside a repository git would look for the paths at its root.
  const copy = scratchFolder();
  for (const name of ["src", "package.json"]) {
    cpSync(join(here, "..", "..", name), join(copy, name), { recursive: true });
  }

  test.each(patches)("%s applies and says what it breaks", (name) => {
    const file = join(here, name);
    expect(readFileSync(file, "utf8")).toMatch(new RegExp(`^${name.replace(".patch", "")}: .+\\.\\n\\ndiff --git `));
    const { status, stderr } = spawnSync("git", ["apply", "--check", file], { cwd: copy, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});
