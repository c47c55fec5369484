throw new Error("boom at import")
