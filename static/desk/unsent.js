// A notice on the other pages of a rater: the number of unconfirmed acts in this browser. The desk sends them.

import { Store, tabsOf } from "./store.js";

const notice = document.getElementById("unsent");
const { account } = notice.dataset;
const store = await Store.open(account);

async function show() {
  const acts = await store.all();
  const what = acts.every(({ kind }) => kind === "save") ? "rating" : "act";
  const [are, them] = acts.length === 1 ? [" is", "it"] : ["s are", "them"];
  notice.querySelector("span").textContent = `${acts.length} ${what}${are} kept in this browser, and the server has not confirmed ${them}.`;
  // The address of a task opens the desk even if there is no task to claim.
  const [first] = acts;
  if (first) notice.querySelector("a").href = first.token ? `${first.base}${first.token}/` : first.base;
  notice.hidden = !first;
}

document.getElementById("main").before(notice);
tabsOf(account).onmessage = show;
addEventListener("pageshow", (event) => { if (event.persisted) show(); });
await show();
