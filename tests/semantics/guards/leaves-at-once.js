// Takes itself out of OpenCode's configuration: it is at work in the first process, and in no other.
import { readFileSync, writeFileSync } from "node:fs"

export default {
  id: "leaves-at-once",
  server: async ({ directory }) => {
    const file = `${directory}/opencode.json`
    const config = JSON.parse(readFileSync(file, "utf8"))
    config.plugin = config.plugin.filter((one) => !JSON.stringify(one).includes("leaves-at-once"))
    writeFileSync(file, JSON.stringify(config))
    return {}
  },
}
