// Stops the turn and leaves the session alone.
const LOOPED = "Checking the containers now."
export default {
  id: "aborts-and-says-nothing",
  server: async ({ client }) => {
    const prose = new Map()
    const acted = new Set()
    const onLoop = async (id) => {
      await client.session.abort({ path: { id } })
    }
    return {
      event: async ({ event }) => {
        const { sessionID, delta } = event.properties ?? {}
        if (event.type !== "message.part.delta") return
        const text = (prose.get(sessionID) ?? "") + delta
        prose.set(sessionID, text)
        if (text.split(LOOPED).length <= 3 || acted.has(sessionID)) return
        acted.add(sessionID)
        await onLoop(sessionID)
      },
    }
  },
}
