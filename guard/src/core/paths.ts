/** Where OpenCode keeps the global configuration of the user who runs it. */

import { homedir } from "node:os";
import { join } from "node:path";

/**
 * Returns OpenCode's global config folder. OpenCode follows the XDG layout on every system (opencode-facts.md K),
 * so Windows has it at %USERPROFILE%\.config\opencode.
 */
export function globalConfigFolder(env: NodeJS.ProcessEnv = process.env): string {
  const base = env["XDG_CONFIG_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".config") : base, "opencode");
}
