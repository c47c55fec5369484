export default {
  id: "throws-at-init",
  server: async () => {
    throw new Error("boom at init")
  },
}
