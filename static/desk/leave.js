// Leave the desk for another page.

import { note } from "./state.js";

const PATIENCE = 3_000; // ms

const inTime = (promise) => Promise.race([promise, new Promise((resolve) => { setTimeout(resolve, PATIENCE, {}); })]);

/** Call `go` once the server has all acts. If it does not answer, stay: the desk works without it. */
export async function leave(outbox, wire, go) {
  await inTime(outbox.drain());
  const { account } = await inTime(wire.look());
  if (account !== undefined) return go();
  const kept = outbox.state().waiting > 0 ? "What you did is kept on this device: you can close the page and send it later." : "";
  return note(`The server does not answer now. ${kept}`.trim());
}
