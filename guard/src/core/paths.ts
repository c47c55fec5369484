/** Where OpenCode keeps the global configuration of the user who runs it. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";

/**
 * Returns OpenCode's global config folder. OpenCode follows the XDG layout on every system (opencode-facts.md K),
 * so Windows has it at %USERPROFILE%\.config\opencode.
 */
export function globalConfigFolder(env: NodeJS.ProcessEnv = process.env): string {
  const base = env["XDG_CONFIG_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".config") : base, "opencode");
}

/** Returns the whole path of a file that an option names. `~` is the home folder; a relative path starts in OpenCode's. */
export function optionPath(file: string): string {
  return resolve(globalConfigFolder(), /^~(?=[\\/])/u.test(file) ? join(homedir(), file.slice(1)) : file);
}
