// Leave the desk for another page.

import { note } from "./state.js";
import { gettext } from "./words.js";

const PATIENCE = 3_000; // ms

const inTime = (promise) => Promise.race([promise, new Promise((resolve) => { setTimeout(resolve, PATIENCE, {}); })]);

/** Call `go` once the server has all acts. If it does not answer, stay: the desk works without it. */
export async function leave(outbox, wire, go) {
  await inTime(outbox.drain());
  const { account } = await inTime(wire.look());
  if (account !== undefined) return go();
  if (outbox.state().waiting === 0) return note(gettext("The server does not answer now."));
  return note(gettext("The server does not answer now. What you did is kept on this device: you can close the page and send it later."));
}
