/** One spelling for equal JSON values, whatever the order of their keys. */

/**
 * Returns `value` as JSON with the keys of every object sorted, at any depth. Throws when JSON can't hold the value.
 * Lone surrogates are escaped by `JSON.stringify`, so different strings never share a spelling.
 */
export function canonicalJson(value: unknown): string {
  // The plain pass finds a circular value; the sorting pass, which makes new objects, would walk it for ever.
  const plain: unknown = JSON.parse(JSON.stringify(value) ?? "null");
  return JSON.stringify(plain, (_key, nested: unknown) => (isRecord(nested) ? sorted(nested) : nested));
}

/** True for a JSON object: no array, no null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  // Without a prototype a key called __proto__ is an ordinary key.
  const result = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(record).sort()) result[key] = record[key];
  return result;
}
