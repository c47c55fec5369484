// Aborts the session that says the word, or the child that does, once.
export default {
  id: "aborts",
  server: async ({ client }) => {
    const done = new Set()
    return {
      event: async ({ event }) => {
        const { sessionID, delta } = event.properties ?? {}
        if (event.type !== "message.part.delta" || !delta.includes("looping") || done.has(sessionID)) return
        done.add(sessionID)
        const answer = await client.session.abort({ path: { id: sessionID } })
        if (answer.error) return
        await client.session.promptAsync({
          path: { id: sessionID },
          body: { parts: [{ type: "text", text: "[FACT] go on", synthetic: true }] },
        })
      },
    }
  },
}
