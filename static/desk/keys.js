// Which key means what. A key means nothing while somebody types, and nothing behind an open dialog.
// Who rates may change keys and switch them off: this browser keeps that for their account.

const DIGITS = "1234567890";
const LEFT = "asdfwertvb";
const OTHERS = {
  cannot: "x", later: "l", comment: "c", undo: "u", guidelines: "g", full: "f", next: "n", previous: "p",
  down: "j", up: "k", mine: "m", help: "?",
};
const ALSO = { Backspace: "undo", ArrowDown: "down", ArrowUp: "up" }; // only where an act is not for the page to do
const TEXT = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

/** Act -> key: "grade1" is the first button. `left`: grades under the left hand. */
export function usual(left = false) {
  const grades = [...(left ? LEFT : DIGITS)].map((key, i) => [`grade${i + 1}`, key]);
  return { ...Object.fromEntries(grades), ...OTHERS, ...(left ? { full: "q" } : {}) };
}

const name = (account) => `idealist-keys-${account}`;

/** What the person chose: {off, keys}, keys by act. */
export function chosen(account) {
  let kept = null;
  try {
    kept = JSON.parse(localStorage.getItem(name(account)));
  } catch {
    // Nothing can be kept here, or what is kept is not ours: then the usual keys hold.
  }
  return { off: Boolean(kept?.off), keys: { ...usual(), ...kept?.keys } };
}

/** Keep it. False where the browser keeps nothing. */
export function choose(account, choice) {
  try {
    localStorage.setItem(name(account), JSON.stringify(choice));
    return true;
  } catch {
    return false;
  }
}

/** Show on the buttons which key each has. */
export function label({ off, keys }) {
  for (const shown of document.querySelectorAll("kbd[data-act]")) {
    shown.textContent = keys[shown.dataset.act];
    shown.hidden = off;
  }
}

/** Call `acts[name]()` for keys of `account`, `acts.grade(place)` for those of grades, `acts.digit(place)` for a digit
 *  where that returns true, and `acts.keep()` for Ctrl+Enter. */
export function listen(acts, account) {
  let choice = chosen(account);
  label(choice);
  addEventListener("storage", (event) => { if (event.key === name(account)) label(choice = chosen(account)); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.(TEXT);
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && typing) {
      event.preventDefault();
      acts.keep();
      return;
    }
    // A key held down is one press. So is Enter on a button, which would click it again and again.
    if (event.repeat && (event.key === "Enter" || event.key === " ") && event.target.closest?.("button")) event.preventDefault();
    // A dialog that a key has just closed took that key for itself.
    if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    if (document.querySelector("dialog[open]")) return;
    const digit = DIGITS.indexOf(event.key);
    if (digit >= 0 && event.key && acts.digit(digit)) return event.preventDefault();
    if (choice.off) return;
    const own = Object.keys(choice.keys).find((act) => choice.keys[act] === event.key.toLowerCase()) ?? ALSO[event.key];
    const place = own?.match(/^grade(\d+)$/)?.[1];
    const act = place ? () => acts.grade(place - 1) : acts[own];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
