/** The rules for a model that works under the guard, as text and as a skill of OpenCode. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { globalConfigFolder } from "../core/paths.ts";

/** The rules that README.md recommends for AGENTS.md. */
const RULES = `## Repeated calls and decisions

- Before you repeat a tool call, name what has changed and what new information the call can bring. When in doubt,
  ask \`loop_check\` first.
- A block marked \`[ANTI-LOOP]\` concerns that tool with those arguments and nothing else. Go on with a really different
  approach at once; nothing has to be unlocked for it. Do not get around a block by changing a description, a timeout
  or the look of a command.
- Make a blocked call again only after \`loop_decide\` with decision \`continue\` and a concrete \`observedResult\`,
  \`rationale\` and \`expectedInformation\`, for exactly the tool and the arguments that shall run. A fresh count then
  starts for that call alone.
- After three failed approaches to one problem, leave that problem: sum up what limits you, and go on with other useful
  work. Do not reset counters only to keep trying. Poll only for a change that you can name, and know when to stop.
- \`[ANTI-LOOP STREAM]\` means that your output was stopped because it repeated itself. Go on with the original task from
  the last verified result: announce nothing again, redo nothing that is done, go around no permission. Choose a
  concrete, different action and do it. When there is none, say once what blocks you. When the guard no longer
  continues your turn, do not restart yourself.
`;

/** Returns the text of the skill \`anti-loop\`: its front matter and the recommended rules. */
export function antiLoopSkillContent(): string {
  return `---
name: anti-loop
description: What to do before repeating a tool call, and when [ANTI-LOOP] or [ANTI-LOOP STREAM] appears.
---

${RULES}`;
}

/**
 * Writes the skill to skills/anti-loop/SKILL.md in OpenCode's global config folder and returns the path.
 * A file that is there already is replaced. Throws what the file system throws.
 */
export function installAntiLoopSkill(): string {
  const file = join(globalConfigFolder(), "skills", "anti-loop", "SKILL.md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, antiLoopSkillContent());
  return file;
}
