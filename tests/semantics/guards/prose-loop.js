// What the guards that watch prose share: they act once a session, when its text has said the looped sentence three times.
const LOOPED = "Checking the containers now."

export const onProseLoop = (id, act) => ({
  id,
  server: async ({ client, serverUrl }) => {
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
        await act(client, sessionID, serverUrl)
      },
    }
  },
})

export const WORDS = { parts: [{ type: "text", text: "[LYING] go on", synthetic: true }] }

export const goOn = (client, id) => client.session.promptAsync({ path: { id }, body: WORDS })

/** What a call without the client needs: OpenCode asks for its password (opencode-facts.md H), and for no directory. */
export const HEADERS = {
  authorization: `Basic ${btoa(`opencode:${process.env.OPENCODE_SERVER_PASSWORD ?? ""}`)}`,
  "content-type": "application/json",
}
