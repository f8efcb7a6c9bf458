// Leaving the desk for a page that only the server has.

import { note } from "./state.js";

const PATIENCE = 3_000; // ms

const inTime = (promise) => Promise.race([promise, new Promise((resolve) => { setTimeout(resolve, PATIENCE, {}); })]);

/** Go, once the server has what was done here. Where it does not answer the desk stays, which can go on without it. */
export async function leave(outbox, wire, go) {
  await inTime(outbox.drain());
  const { account } = await inTime(wire.look());
  if (account !== undefined) return go();
  const kept = outbox.state().waiting > 0 ? "What you did is kept on this device: you can close the page and send it later." : "";
  return note(`The server does not answer now. ${kept}`.trim());
}
