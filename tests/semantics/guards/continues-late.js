// Continues two seconds after the abort: whoever stops looking at idle never sees it.
import { goOn, onProseLoop } from "./prose-loop.js"

export default onProseLoop("continues-late", async (client, id) => {
  await client.session.abort({ path: { id } })
  await new Promise((done) => setTimeout(done, 2000))
  await goOn(client, id)
})
