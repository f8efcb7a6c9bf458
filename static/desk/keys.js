// The keys of the desk. They are ignored while somebody types and while a dialog is open.
// Raters can change keys and switch them off; localStorage keeps that by account. The usual keys of grades are those of
// the scale, which the server knows: ratings/desk/keys.py.

const DIGITS = "1234567890"; // of reasons
const SECOND = 600; // ms for the digit after a minus
const LEFT = "asdfwertvb";
const OTHERS = {
  cannot: "x", later: "l", comment: "c", undo: "u", guidelines: "g", full: "f", zoom: "z", next: "n", previous: "p",
  down: "j", up: "k", mine: "m", help: "?",
};
const ALSO = { Backspace: "undo", ArrowDown: "down", ArrowUp: "up" }; // arrows scroll the page where the act is missing
const TEXT = "input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]";

/** Whether keys are text in this element. */
export const isText = (element) => Boolean(element?.closest?.(TEXT));

/** The usual keys, act → key; "grade1" is the first button. `grades`: their keys; null: keys of the left hand. */
export function usual(scale) {
  const left = scale === null;
  const grades = [...(scale ?? LEFT)].map((key, i) => [`grade${i + 1}`, key]).filter(([, key]) => key);
  return { ...Object.fromEntries(grades), ...OTHERS, ...(left ? { full: "q" } : {}) };
}

/** The name in localStorage. */
export const storedAs = (account) => `idealist-keys-${account}`;

/** The settings of the account: {off, keys}, keys by act. `grades`: the usual keys of the grades. */
export function chosen(account, grades) {
  let kept = null;
  try {
    kept = JSON.parse(localStorage.getItem(storedAs(account)));
  } catch {
    // Without storage, or with an invalid value in it, the usual keys apply.
  }
  return { off: Boolean(kept?.off), keys: { ...usual(grades), ...kept?.keys } };
}

/** The Latin letter or the digit at the place of the key, so that raters need not leave a Cyrillic, Arabic or French
 *  keyboard; the key itself where there is none. */
export function latin({ key, code, shiftKey }) {
  const [, letter, digit] = code.match(/^Key([A-Z])$|^Digit(\d)$/) ?? [];
  if (key > "~") return letter?.toLowerCase() ?? digit ?? key;
  // On a French keyboard digits need the shift key: without it, their keys write & " ' ( and others.
  return shiftKey || key === "-" ? key : digit ?? key;
}

/** Show the keys on the buttons. */
export function label({ off, keys }) {
  for (const shown of document.querySelectorAll("kbd[data-act]")) {
    shown.textContent = keys[shown.dataset.act];
    shown.hidden = off;
  }
}

/** Call `acts[name]()` for keys of `account`, `acts.grade(place)` for those of grades, `acts.digit(place)` for a digit
 *  where that returns true, and `acts.keep()` for Ctrl+Enter.
 *
 *  Where a grade has a key such as -2, the minus alone waits for the digit, and counts when none comes. */
export function listen(acts, { account, keys: grades }) {
  let choice = chosen(account, grades);
  let minus = 0; // the timer of a minus that waits
  label(choice);
  addEventListener("storage", (event) => { if (event.key === storedAs(account)) label(choice = chosen(account, grades)); });

  function actOf(key) {
    const own = Object.keys(choice.keys).find((act) => choice.keys[act] === key.toLowerCase()) ?? ALSO[key];
    const place = own?.match(/^grade(\d+)$/)?.[1];
    return place ? () => acts.grade(place - 1) : acts[own];
  }

  document.addEventListener("keydown", (event) => {
    const typing = isText(event.target);
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
    const key = actOf(event.key) ? event.key : latin(event);
    const digit = DIGITS.indexOf(key);
    if (digit >= 0 && key && acts.digit(digit)) return event.preventDefault();
    if (choice.off) return;
    const waited = minus;
    clearTimeout(minus);
    minus = 0;
    if (event.key === "-" && Object.values(choice.keys).some((key) => key.length > 1)) {
      event.preventDefault();
      minus = setTimeout(() => { minus = 0; actOf("-")?.(); }, SECOND);
      return;
    }
    const act = (waited && actOf(`-${key}`)) || actOf(key);
    if (!act) return;
    event.preventDefault();
    act();
  });
}
