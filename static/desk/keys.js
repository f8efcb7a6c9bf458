// The keys of the desk. They are ignored while somebody types and while a dialog is open.
// Raters can change keys and switch them off; localStorage keeps that by account.

const DIGITS = "1234567890";
const LEFT = "asdfwertvb";
const OTHERS = {
  cannot: "x", later: "l", comment: "c", undo: "u", guidelines: "g", full: "f", next: "n", previous: "p",
  down: "j", up: "k", mine: "m", help: "?",
};
const ALSO = { Backspace: "undo", ArrowDown: "down", ArrowUp: "up" }; // arrows scroll the page where the act is missing
const TEXT = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

/** The usual keys, act → key; "grade1" is the first button. `left`: grades are keys of the left hand. */
export function usual(left = false) {
  const grades = [...(left ? LEFT : DIGITS)].map((key, i) => [`grade${i + 1}`, key]);
  return { ...Object.fromEntries(grades), ...OTHERS, ...(left ? { full: "q" } : {}) };
}

const name = (account) => `idealist-keys-${account}`;

/** The settings of the account: {off, keys}, keys by act. */
export function chosen(account) {
  let kept = null;
  try {
    kept = JSON.parse(localStorage.getItem(name(account)));
  } catch {
    // Without storage, or with an invalid value in it, the usual keys apply.
  }
  return { off: Boolean(kept?.off), keys: { ...usual(), ...kept?.keys } };
}

/** Store the settings. False: the browser has no storage. */
export function choose(account, choice) {
  try {
    localStorage.setItem(name(account), JSON.stringify(choice));
    return true;
  } catch {
    return false;
  }
}

/** Show the keys on the buttons. */
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
    // A key held down counts once, also Enter on a button, which would click repeatedly.
    if (event.repeat && (event.key === "Enter" || event.key === " ") && event.target.closest?.("button")) event.preventDefault();
    // defaultPrevented: the key has just closed a dialog.
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
