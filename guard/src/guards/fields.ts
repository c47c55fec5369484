/** Checks the fields of a tool call, because OpenCode does not (opencode-facts.md L). */

import { isRecord } from "../core/canonical.ts";

/** The fields as the model sent them. */
export type RawFields = Readonly<Record<string, unknown>>;

/** Reads fields and collects one sentence for each bad one, so that the model can mend all of them at once. */
export class FieldReader {
  readonly #raw: RawFields;
  readonly #problems: string[] = [];

  constructor(raw: unknown) {
    this.#raw = isRecord(raw) ? raw : {};
  }

  /** A string with at least `least` characters after trimming. */
  text(name: string, least: number): string {
    const value = this.#raw[name];
    if (typeof value !== "string") return this.#bad(name, `must be a string, not ${kindOf(value)}`, "");
    const length = [...value.trim()].length;
    if (length >= least) return value;
    return this.#bad(
      name,
      least === 1 ? "must not be empty" : `needs at least ${least} characters after trimming, and has ${length}`,
      "",
    );
  }

  /** One of `choices`. */
  choice<T extends string>(name: string, choices: readonly [T, ...T[]]): T {
    const value = this.#raw[name];
    const chosen = choices.find((choice) => choice === value);
    if (chosen !== undefined) return chosen;
    const found = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
    return this.#bad(name, `must be one of ${choices.join(", ")}, not ${found}`, choices[0]);
  }

  /** A JSON object that is encoded as a string. */
  jsonObject(name: string): RawFields {
    const value = this.#raw[name];
    if (typeof value !== "string")
      return this.#bad(name, `must be a JSON object encoded as a string, not ${kindOf(value)}`, {});
    try {
      const parsed: unknown = JSON.parse(value);
      if (isRecord(parsed)) return parsed;
      return this.#bad(name, `must be a JSON object encoded as a string, but holds ${kindOf(parsed)}`, {});
    } catch {
      return this.#bad(name, "must be a JSON object encoded as a string, but is no valid JSON", {});
    }
  }

  /** Throws an error that names every bad field. */
  finish(tool: string): void {
    if (this.#problems.length > 0) throw new Error(`${tool}: ${this.#problems.join("; ")}. Nothing was recorded.`);
  }

  #bad<T>(name: string, problem: string, instead: T): T {
    this.#problems.push(`${name} ${problem}`);
    return instead;
  }
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}
