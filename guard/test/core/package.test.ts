import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder } from "../scratch.ts";

const root = join(import.meta.dir, "..", "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

test("[INF-63] the package declares its systems, its Node.js and no dependency", () => {
  expect(manifest.os).toEqual(["win32", "linux", "darwin"]);
  expect(manifest.engines).toEqual({ node: ">=20" });
  expect(manifest.dependencies).toBeUndefined();
});

test("[INF-63] the build writes the files that the package names", () => {
  const dist = scratchFolder();
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const build = ["--project", join(root, "tsconfig.build.json"), "--outDir", dist];
  const { status, stdout } = spawnSync("node", [tsc, ...build], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  for (const name of [manifest.main, manifest.types]) {
    expect(name).toStartWith("./dist/");
    expect(existsSync(join(dist, name.slice("./dist/".length)))).toBeTrue();
  }
});
