// The state of saving: always on the screen, and announced to screen readers now and then.

import { filled, gettext, ngettext } from "./words.js";

const OFTEN = 10; // saves between two announcements
const LOUD = new Set(["offline", "needs"]); // their begin and end are announced at once

const chip = document.getElementById("state");
const act = document.getElementById("state-act");
const voice = document.getElementById("said");
const notice = document.getElementById("notice");

/** Announce something to screen readers. */
export function announce(words) {
  voice.textContent = words;
}

let hiding = 0;

/** Show a note for a moment. */
export function note(words) {
  notice.textContent = words;
  notice.hidden = false;
  announce(words);
  clearTimeout(hiding);
  hiding = setTimeout(() => { notice.hidden = true; }, 4_000);
}

function words({ waiting, needs, problem, told, nextTry, signedOut, lasting }) {
  // Translators: the rater has to decide about so many ratings.
  if (needs) return ["needs", filled(ngettext("%(n)s rating needs you", "%(n)s ratings need you", needs), { n: needs })];
  const n = { n: waiting };
  // Translators: %(n)s ratings and other acts.
  const kept = lasting ? ngettext("%(n)s kept on this device", "%(n)s kept on this device", waiting)
    // Translators: %(n)s ratings and other acts.
    : ngettext("%(n)s kept while this page stays open", "%(n)s kept while this page stays open", waiting);
  if (signedOut) return ["needs", waiting ? filled(gettext("Signed out: %(kept)s"), { kept: filled(kept, n) }) : gettext("Signed out")];
  if (!waiting) return ["saved", gettext("Saved")];
  // Translators: such as “Offline: 3 kept on this device, next try in 5 s”.
  if (problem) return ["offline", filled(gettext("%(problem)s: %(kept)s, %(next)s"), { problem: problemOf(problem, told), kept: filled(kept, n), next: next(nextTry) })];
  // Translators: %(n)s ratings and other acts.
  if (lasting) return ["saving", filled(ngettext("Saving %(n)s", "Saving %(n)s", waiting), n)];
  // Translators: %(n)s ratings and other acts.
  return ["saving", filled(ngettext("Saving %(n)s: this browser keeps nothing, leave the page open", "Saving %(n)s: this browser keeps nothing, leave the page open", waiting), n)];
}

function problemOf(problem, told) {
  // Translators: the begin of “Offline: 3 kept on this device, next try in 5 s”.
  if (problem === "offline") return gettext("Offline");
  if (problem === "browser") return gettext("This browser does not let its storage be read");
  return told.replace(/[.。]$/, "") || gettext("The server has a problem");
}

function next(nextTry) {
  // Translators: the end of “Offline: 3 kept on this device, trying now”.
  if (!nextTry) return gettext("trying now");
  // Translators: the end of “Offline: 3 kept on this device, next try in 5 s”; s: seconds.
  return filled(gettext("next try in %(seconds)s s"), { seconds: Math.max(0, Math.ceil((nextTry - Date.now()) / 1_000)) });
}

/** Show the state of `outbox` from now on. `decide` opens the dialog that it needs. */
export function watch(outbox, decide) {
  let before = "saved";
  let saved = 0;
  let ticking = 0;

  function show() {
    const state = outbox.state();
    const [kind, text] = words(state);
    chip.dataset.kind = kind;
    chip.textContent = text;
    act.hidden = kind !== "needs";
    // Translators: a button: decide which of two ratings counts, or sign in.
    act.textContent = state.needs ? gettext("Decide") : gettext("Sign in");
    clearTimeout(ticking);
    if (state.nextTry && state.waiting) ticking = setTimeout(show, 1_000);
    if (kind === "saving") return;
    if (kind !== before && (LOUD.has(kind) || LOUD.has(before))) announce(text);
    before = kind;
  }

  outbox.addEventListener("change", show);
  outbox.addEventListener("confirmed", () => {
    saved += 1;
    // Translators: read out now and then: %(n)s ratings and other acts are saved.
    if (saved % OFTEN === 0) announce(filled(ngettext("%(n)s saved", "%(n)s saved", saved), { n: saved }));
  });
  act.addEventListener("click", decide);
  show();
}
