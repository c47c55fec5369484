// Stops the turn and leaves the session alone.
import { onProseLoop } from "./prose-loop.js"

export default onProseLoop("aborts-and-says-nothing", (client, id) => client.session.abort({ path: { id } }))
