// Loads well and does nothing.
export default { id: "nothing", server: async () => ({}) }
