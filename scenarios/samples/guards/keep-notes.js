// A plugin for the sample: nobody writes to notes.txt.
export const KeepNotes = async () => ({
  "tool.execute.before": async ({ tool }, { args }) => {
    if (tool === "write" && args.filePath.endsWith("notes.txt")) {
      throw new Error("[KEEP] notes.txt stays as it is.")
    }
  },
})
