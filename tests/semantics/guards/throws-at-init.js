// Is evaluated to its end and then refuses to begin.
export default {
  id: "throws-at-init",
  server: async () => {
    throw new Error("no database")
  },
}
