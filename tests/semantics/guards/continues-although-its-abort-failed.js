// Does not look at the answer: the SDK does not throw on an HTTP error (opencode-facts.md L).
import { goOn, onProseLoop } from "./prose-loop.js"

export default onProseLoop("continues-although-its-abort-failed", async (client, id) => {
  await client.session.abort({ path: { id } })
  await goOn(client, id)
})
