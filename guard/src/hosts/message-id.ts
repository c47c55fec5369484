/** Message ids that OpenCode sorts in the right place. */

import { randomBytes } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Returns a message id for the time `now` in milliseconds. OpenCode orders messages by id: 12 hexadecimal digits, the
 * low 48 bits of the time times 4096, then 14 random characters (seen in 1.18.3 and 1.18.33). An id of another order
 * would put the continuation before the message that it follows.
 */
export function ascendingMessageId(now: number): string {
  const stamp = BigInt.asUintN(48, BigInt(Math.trunc(now)) * 4096n);
  const random = [...randomBytes(14)].map((byte) => DIGITS[byte % DIGITS.length]).join("");
  return `msg_${stamp.toString(16).padStart(12, "0")}${random}`;
}
