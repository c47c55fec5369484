/**
 * The entry. The default export is the plugin; OpenCode then ignores the named ones,
 * which are for wrapper files (opencode-facts.md A.3).
 */

import { AntiLoop } from "./hosts/opencode.ts";

export { AntiLoop };
export default { id: "opencode-infinity-loop-guard", server: AntiLoop };
