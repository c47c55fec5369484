// Calls OpenCode past fetch, where nobody sees it: only the message that comes of it tells.
import { request } from "node:http"

import { HEADERS, onProseLoop, WORDS } from "./prose-loop.js"

export default onProseLoop("continues-unseen", async (client, id, serverUrl) => {
  await client.session.abort({ path: { id } })
  const url = new URL(`/session/${id}/prompt_async`, serverUrl)
  await new Promise((done) => request(url, { method: "POST", headers: HEADERS }, done).end(JSON.stringify(WORDS)))
})
