// Continues at the second tick of an interval, two seconds after the abort; the first tick does nothing.
import { goOn, onProseLoop } from "./prose-loop.js"

export default onProseLoop("continues-from-an-interval", async (client, id) => {
  await client.session.abort({ path: { id } })
  let ticks = 0
  const interval = setInterval(() => {
    ticks += 1
    if (ticks < 2) return
    clearInterval(interval)
    goOn(client, id)
  }, 1000)
})
