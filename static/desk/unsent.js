// A notice on the other pages of a rater: the number of unconfirmed acts in this browser. The desk sends them.

import { Store, tabsOf } from "./store.js";
import { filled, ngettext } from "./words.js";

const notice = document.getElementById("unsent");
const { account } = notice.dataset;
const store = await Store.open(account);

async function show() {
  const acts = await store.all();
  const n = acts.length;
  const words = acts.every(({ kind }) => kind === "save")
    ? ngettext("%(n)s rating is kept in this browser, and the server has not confirmed it.", "%(n)s ratings are kept in this browser, and the server has not confirmed them.", n)
    // Translators: an act is a rating, an undo, or to put a document off.
    : ngettext("%(n)s act is kept in this browser, and the server has not confirmed it.", "%(n)s acts are kept in this browser, and the server has not confirmed them.", n);
  notice.querySelector("span").textContent = filled(words, { n });
  // The address of a task opens the desk even if there is no task to claim.
  const [first] = acts;
  if (first) notice.querySelector("a").href = first.token ? `${first.base}${first.token}/` : first.base;
  notice.hidden = !first;
}

document.getElementById("main").before(notice);
tabsOf(account).onmessage = show;
addEventListener("pageshow", (event) => { if (event.persisted) show(); });
await show();
