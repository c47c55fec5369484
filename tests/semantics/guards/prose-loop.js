// What the guards that watch prose share: they act once a session, when its text has said the looped sentence three times.
const LOOPED = "Checking the containers now."

export const onProseLoop = (id, act) => ({
  id,
  server: async ({ client }) => {
    const prose = new Map()
    const acted = new Set()
    return {
      event: async ({ event }) => {
        const { sessionID, delta } = event.properties ?? {}
        if (event.type !== "message.part.delta") return
        const text = (prose.get(sessionID) ?? "") + delta
        prose.set(sessionID, text)
        if (text.split(LOOPED).length <= 3 || acted.has(sessionID)) return
        acted.add(sessionID)
        await act(client, sessionID)
      },
    }
  },
})

export const goOn = (client, id) =>
  client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: "[LYING] go on", synthetic: true }] } })
