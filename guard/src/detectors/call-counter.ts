/** Counts the matching tool calls of one session and says which one goes too far. */

/** When a call goes too far: the `threshold`-th run inside `windowMs` milliseconds. */
export interface CallLimits {
  readonly threshold: number;
  readonly windowMs: number;
}

/** How a call stands: `count` runs inside the window, `known` when it ever ran or was rejected. */
export interface CallStanding {
  readonly count: number;
  readonly blocked: boolean;
  readonly authorised: boolean;
  readonly known: boolean;
}

/** What happens to a call that is about to run. A rejected call does not count as a run. */
export interface Admission {
  readonly blocked: boolean;
  /** Runs inside the window, this one included. A rejected call is counted here, and only here. */
  readonly count: number;
}

interface Entry {
  /** Times of the counted runs in milliseconds, oldest first, fewer than `threshold`. */
  runs: number[];
  seen: boolean;
  authorised: boolean;
}

/**
 * The counters of one session, by call key. Pure: the time comes in as an argument, in milliseconds.
 * A block outlives the window. Only a fresh cycle (`authorise`, then a run) ends it.
 */
export class CallCounter {
  readonly #limits: CallLimits;
  readonly #entries = new Map<string, Entry>();
  /** Blocked keys and the names of their tools, the one rejected last at the end. */
  readonly #blocked = new Map<string, string>();

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** Decides on a call that is about to run, and counts it when it may. */
  admit(key: string, tool: string, now: number): Admission {
    const entry = this.#entry(key);
    if (entry.authorised) this.#restart(key, entry);
    entry.seen = true;
    this.#expire(entry, now);
    if (this.#blocked.has(key) || entry.runs.length + 1 >= this.#limits.threshold) {
      this.#block(key, tool);
      return { blocked: true, count: this.#limits.threshold };
    }
    entry.runs.push(now);
    return { blocked: false, count: entry.runs.length };
  }

  /** How the call stands at `now`. Changes nothing. */
  inspect(key: string, now: number): CallStanding {
    const entry = this.#entries.get(key);
    return {
      count: entry === undefined ? 0 : entry.runs.filter((at) => this.#recent(at, now)).length,
      blocked: this.#blocked.has(key),
      authorised: entry?.authorised ?? false,
      known: entry?.seen ?? false,
    };
  }

  /** Lets the next run of this call, and of no other, start a fresh cycle. */
  authorise(key: string): void {
    this.#entry(key).authorised = true;
  }

  /**
   * Takes back an unused authorisation of the call that was rejected last, and names its tool.
   * Undefined when nothing is blocked.
   */
  abandonLastBlocked(): string | undefined {
    const last = [...this.#blocked].at(-1);
    if (last === undefined) return undefined;
    const [key, tool] = last;
    this.#entry(key).authorised = false;
    return tool;
  }

  #entry(key: string): Entry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { runs: [], seen: false, authorised: false };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #restart(key: string, entry: Entry): void {
    entry.runs = [];
    entry.authorised = false;
    this.#blocked.delete(key);
  }

  #block(key: string, tool: string): void {
    this.#blocked.delete(key);
    this.#blocked.set(key, tool);
  }

  #expire(entry: Entry, now: number): void {
    entry.runs = entry.runs.filter((at) => this.#recent(at, now));
  }

  #recent(at: number, now: number): boolean {
    return now - at <= this.#limits.windowMs;
  }
}
