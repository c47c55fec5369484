// Asks the user before each command, by the only API that lets a plugin ask (opencode-facts.md A.6).
const ASK = { action: "doom_loop", resources: ["bash"] }

export default {
  id: "asks",
  server: async ({ serverUrl }) => {
    const authorization = `Basic ${btoa(`opencode:${process.env.OPENCODE_SERVER_PASSWORD}`)}`
    const headers = { authorization, "content-type": "application/json" }
    const replies = new Map()

    // The answer can be there before the question's own id is.
    function replyTo(id) {
      if (!replies.has(id)) replies.set(id, Promise.withResolvers())
      return replies.get(id)
    }

    async function ask(session) {
      const url = new URL(`/api/session/${session}/permission`, serverUrl)
      for (;;) {
        const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(ASK) })
        const { id, effect } = (await answer.json()).data
        if (effect === "ask") return replyTo(id).promise
        // In its first second an instance denies what its config has not told it yet.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }

    return {
      event: async ({ event }) => {
        const { requestID, reply } = event.properties ?? {}
        if (event.type === "permission.v2.replied") replyTo(requestID).resolve(reply)
      },
      "tool.execute.before": async ({ tool, sessionID }) => {
        if (tool === "bash" && (await ask(sessionID)) === "reject") throw new Error("The user said no.")
      },
    }
  },
}
