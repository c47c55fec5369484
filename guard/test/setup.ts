/** What bun does around all test files. */

import { afterAll } from "bun:test";
import { removeScratchFolders } from "./scratch.ts";

afterAll(removeScratchFolders);
