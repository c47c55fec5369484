// The probe's end of the line to the harness: entries go out with their own time and sequence, orders come in.
import net from "node:net"

const CLIP = 4000

export const clip = (text) => (typeof text === "string" && text.length > CLIP ? `${text.slice(0, CLIP)}…` : text)

// Not Date: the scenario moves that one.
const now = () => performance.timeOrigin + performance.now()

/** One line-wise JSON connection to the harness; entries keep their own time and sequence. */
export class Link {
  constructor(address, token, clock) {
    this.clock = clock
    const [host, port] = address.split(":")
    this.sequence = 0
    this.waiting = new Map()
    this.socket = net.connect({ host, port: Number(port) })
    this.socket.setNoDelay(true)
    this.socket.unref()
    this.socket.on("error", () => {})
    let rest = ""
    this.socket.on("data", (bytes) => {
      const lines = (rest + bytes).split("\n")
      rest = lines.pop()
      for (const line of lines) this.obey(JSON.parse(line))
    })
    this.send("hello", null, { token, pid: process.pid })
  }

  send(kind, directory, data, session) {
    this.sequence += 1
    this.socket.write(`${JSON.stringify({ seq: this.sequence, t: now(), kind, directory, session, data })}\n`)
  }

  obey(order) {
    if (order.order === "clock") this.clock.offset += order.ms
    if (order.order === "release") this.gate(`${order.directory}\n${order.gate}`).open()
    this.send("pong", null, { id: order.id })
  }

  gate(key) {
    if (!this.waiting.has(key)) {
      const gate = {}
      gate.promise = new Promise((done) => (gate.open = done))
      this.waiting.set(key, gate)
    }
    return this.waiting.get(key)
  }
}
