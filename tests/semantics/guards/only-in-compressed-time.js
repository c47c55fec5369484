// Blocks the third equal call within ten seconds: right in a fast replay, useless at the pace of the real incident.
const WINDOW_MS = 10_000
export default {
  id: "compressed",
  server: async () => {
    const seen = new Map()
    return {
      "tool.execute.before": async (input, output) => {
        const key = `${input.sessionID} ${input.tool} ${JSON.stringify(output.args)}`
        const recent = (seen.get(key) ?? []).filter((at) => Date.now() - at < WINDOW_MS)
        seen.set(key, [...recent, Date.now()])
        if (recent.length >= 2) throw new Error("[LYING] blocked")
      },
    }
  },
}
