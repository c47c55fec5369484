/** The wrapper form of the guard's options, as README.md of the guard describes it. */
import { AntiLoop } from "../../../guard/src/index.ts";

const config = { threshold: 2, windowMs: 5000, streamThreshold: 4, streamMaxRecoveries: 0, colour: "red" };

export default async (ctx) => AntiLoop({ ...ctx, config });
