// The settings of keys, which localStorage keeps by account. All other settings are a form without a script.

import { chosen, storedAs, usual } from "./keys.js";
import { filled, gettext } from "./words.js";

const at = (id) => document.getElementById(id);
const { account, keys: grades } = JSON.parse(at("settings-data").textContent);
const fields = [...document.querySelectorAll("input[data-act]")];
const off = at("keys-off");
const says = at("keys-said");

let choice = chosen(account, grades);

function show() {
  for (const field of fields) {
    field.value = choice.keys[field.dataset.act];
    field.removeAttribute("aria-invalid");
  }
  off.checked = choice.off;
}

/** Store the settings: of the keys those that differ from the usual ones, as another collection has another scale.
 *  False: the browser has no storage. */
function choose({ off, keys }) {
  const without = usual(grades);
  const changed = Object.fromEntries(Object.entries(keys).filter(([act, key]) => without[act] !== key));
  try {
    localStorage.setItem(storedAs(account), JSON.stringify({ off, keys: changed }));
    return true;
  } catch {
    return false;
  }
}

function keep(next, words) {
  choice = next;
  show();
  says.textContent = choose(choice) ? words : gettext("This browser keeps nothing: the usual keys will be back on the next page.");
}

/** The key of a press, if it is a single character that no other act has. */
function take(field, key) {
  const { act } = field.dataset;
  const name = (one) => one.closest("label, .field").querySelector(".name").textContent.trim();
  const other = fields.find((one) => one !== field && choice.keys[one.dataset.act] === key);
  if (other) {
    show();
    field.setAttribute("aria-invalid", "true");
    says.textContent = filled(gettext("Not changed: “%(key)s” is the key of “%(name)s”. Give that another key first."), { key, name: name(other) });
    return;
  }
  const words = filled(gettext("“%(key)s” is now the key of “%(name)s”. Kept in this browser."), { key, name: name(field) });
  keep({ ...choice, keys: { ...choice.keys, [act]: key } }, words);
}

for (const field of fields) {
  field.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || [...event.key].length !== 1) return;
    event.preventDefault();
    if (event.key !== " ") return take(field, event.key.toLowerCase());
    says.textContent = gettext("The space bar scrolls the page and cannot be a key.");
  });
  // On-screen keyboards send input events without a key.
  field.addEventListener("input", () => {
    const key = [...field.value.trim().toLowerCase()].pop();
    if (key) take(field, key);
    else show();
  });
}
off.addEventListener("change", () => keep({ ...choice, off: off.checked }, off.checked ? gettext("Keys are off.") : gettext("Keys are on.")));
at("keys-digits").addEventListener("click", () => keep({ ...choice, keys: usual(grades) }, gettext("Grades have their usual keys. Kept in this browser.")));
at("keys-left").addEventListener("click", () => keep({ ...choice, keys: { ...usual(grades), ...usual(null) } }, gettext("Grades lie under the left hand. Kept in this browser.")));
at("keys").hidden = false;
show();
