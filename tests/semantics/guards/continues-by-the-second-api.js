// Continues through the routes that have messages of their own (opencode-facts.md A.6): the probe sees the call, but no user message.
import { HEADERS, onProseLoop } from "./prose-loop.js"

export default onProseLoop("continues-by-the-second-api", async (client, id, serverUrl) => {
  await client.session.abort({ path: { id } })
  const body = JSON.stringify({ prompt: { text: "[LYING] go on" } })
  await fetch(new URL(`/api/session/${id}/prompt`, serverUrl), { method: "POST", headers: HEADERS, body })
})
