/** A make-believe OpenCode client that records its calls and answers as a test says. */

type Answer = { data?: unknown; error?: unknown; response?: { ok: boolean; status: number } };
type Answerer = (options: Record<string, unknown>) => Promise<Answer> | Answer;

/** One call: its name, and what it was given. */
export interface Call {
  readonly name: string;
  readonly options: Record<string, any>;
}

/** What the client answers; a test replaces what it needs. */
export interface Answers {
  abort: Answerer;
  status: Answerer;
  promptAsync: Answerer;
  showToast: Answerer;
}

/** An HTTP error as the SDK returns it. */
export const FAILED: Answer = { error: {}, response: { ok: false, status: 500 } };

/** The client, the calls it received and its answers. */
export function recordingClient(changed: Partial<Answers> = {}) {
  const calls: Call[] = [];
  const answers: Answers = {
    abort: () => ({ data: true }),
    status: () => ({ data: {} }),
    promptAsync: () => ({ data: {} }),
    showToast: () => ({ data: true }),
    ...changed,
  };
  const method = (name: keyof Answers) => async (options: Record<string, unknown>) => {
    calls.push({ name, options });
    return answers[name](options);
  };
  const client = {
    session: { abort: method("abort"), status: method("status"), promptAsync: method("promptAsync") },
    tui: { showToast: method("showToast") },
  };
  return {
    client,
    calls,
    named: (name: string) => calls.filter((call) => call.name === name).map((call) => call.options),
    order: () => calls.map((call) => call.name).filter((name) => name !== "showToast"),
    toasts: () =>
      calls.filter((call) => call.name === "showToast").map((call) => call.options["body"].message as string),
  };
}

/** A promise that the test settles. */
export function held<T>(): { promise: Promise<T>; release: (value: T) => void } {
  let release: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

/** Lets everything that is ready happen. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}
