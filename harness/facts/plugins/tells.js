// Tells the model, in the error of the next bash call, what OpenCode showed it: the expectations read it there.
export default {
  id: "tells",
  server: async ({ client }) => {
    const kinds = new Map()
    const fields = new Set()
    const seen = ({ type, properties }) => {
      if (type === "message.part.updated") kinds.set(properties.part.id, properties.part.type)
      if (type === "message.part.delta") fields.add(`${kinds.get(properties.partID)}:${properties.field}:${typeof properties.delta}`)
    }
    return {
      event: async ({ event }) => seen(event),
      "tool.execute.before": async (input) => {
        if (input.tool !== "bash") return
        const status = await client.session.status()
        const mine = status.data?.[input.sessionID]?.type
        throw new Error(`[FACT] deltas ${[...fields].sort().join(" ")}; status ${mine}; sessions ${Object.keys(status.data ?? {}).length}`)
      },
    }
  },
}
