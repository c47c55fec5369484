/**
 * The entry. The default export is the plugin; OpenCode then leaves the named ones alone
 * (opencode-facts.md A.3), which are for wrapper files.
 */

import { AntiLoop } from "./hosts/opencode.ts";

export { AntiLoop };
export { antiLoopSkillContent, installAntiLoopSkill } from "./guards/skill.ts";
export default { id: "opencode-infinity-loop-guard", server: AntiLoop };
