// Calls OpenCode without the client and without the header that names the directory: by the session's id alone.
import { HEADERS, onProseLoop, WORDS } from "./prose-loop.js"

export default onProseLoop("continues-by-raw-calls", async (_client, id, serverUrl) => {
  const call = (what, body) =>
    fetch(new URL(`/session/${id}/${what}`, serverUrl), { method: "POST", headers: HEADERS, body: JSON.stringify(body) })
  await call("abort", {})
  await call("prompt_async", WORDS)
})
