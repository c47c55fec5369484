// OpenCode refuses the whole module because of the constant (opencode-facts.md A.3).
export const VERSION = "1.0.0"
export const Guard = async () => ({
  "tool.execute.before": async () => {
    throw new Error("[LYING] blocked")
  },
})
