// Continues two seconds after the abort: whoever stops looking at idle never sees it.
const LOOPED = "Checking the containers now."
export default {
  id: "continues-late",
  server: async ({ client }) => {
    const prose = new Map()
    const acted = new Set()
    const onLoop = async (id) => {
      await client.session.abort({ path: { id } })
      await new Promise((done) => setTimeout(done, 2000))
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: "[LYING] go on", synthetic: true }] } })
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
