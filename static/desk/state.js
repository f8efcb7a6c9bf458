// The state of saving: always on the screen, and announced to screen readers now and then.

const OFTEN = 10; // saves between two announcements
const LOUD = new Set(["offline", "needs"]); // their begin and end are announced at once

const chip = document.getElementById("state");
const act = document.getElementById("state-act");
const voice = document.getElementById("said");
const notice = document.getElementById("notice");

const counted = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

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
  const kept = lasting ? `${waiting} kept on this device` : `${waiting} kept while this page stays open`;
  const seconds = Math.max(0, Math.ceil((nextTry - Date.now()) / 1_000));
  const next = nextTry ? `, next try in ${seconds} s` : ", trying now";
  if (needs) return ["needs", `${counted(needs, "rating")} ${needs === 1 ? "needs" : "need"} you`];
  if (signedOut) return ["needs", waiting ? `Signed out: ${kept}` : "Signed out"];
  if (!waiting) return ["saved", "Saved"];
  if (problem === "offline") return ["offline", `Offline: ${kept}${next}`];
  if (problem === "server") return ["offline", `${told.replace(/\.$/, "") || "The server has a problem"}: ${kept}${next}`];
  if (problem === "browser") return ["offline", `This browser does not let its storage be read: ${kept}${next}`];
  return ["saving", lasting ? `Saving ${waiting}` : `Saving ${waiting}: this browser keeps nothing, leave the page open`];
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
    act.textContent = state.needs ? "Decide" : "Sign in";
    clearTimeout(ticking);
    if (state.nextTry && state.waiting) ticking = setTimeout(show, 1_000);
    if (kind === "saving") return;
    if (kind !== before && (LOUD.has(kind) || LOUD.has(before))) announce(text);
    before = kind;
  }

  outbox.addEventListener("change", show);
  outbox.addEventListener("confirmed", () => {
    saved += 1;
    if (saved % OFTEN === 0) announce(`${saved} saved`);
  });
  act.addEventListener("click", decide);
  show();
}
