/** Installs the skill of the guard when OpenCode loads it. */
import { AntiLoop, installAntiLoopSkill } from "../../../guard/src/index.ts";

export default async (ctx) => {
  installAntiLoopSkill();
  return AntiLoop(ctx);
};
