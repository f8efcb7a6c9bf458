// Grades and progress as text, for both forms of the desk.

import { filled, gettext } from "./words.js";

const at = (id) => document.getElementById(id);

/** The nodes of a grade or a reason: "[2] Good", "cannot judge, the query is unclear". */
export function said({ grade, reason }) {
  const button = grade && document.querySelector(`button.grade[value="${CSS.escape(grade)}"]`);
  if (button) return [button.querySelector(".g").cloneNode(true), ` ${button.querySelector("span:not(.g)").textContent}`];
  if (grade) return [grade]; // a grade that the scale no longer has
  const because = reason && document.querySelector(`[name=reason][value="${CSS.escape(reason)}"] .why`);
  if (because) return [filled(gettext("cannot judge: “%(reason)s”"), { reason: because.textContent })];
  // Translators: what the rater did with a document instead of rating it: it comes again later.
  return [gettext("put off")];
}

/** Show the act that undo would take back. */
export function showLast(act) {
  at("last").hidden = !act;
  if (act) at("last-said").replaceChildren(...said(act));
}

/** Show the progress. Each answer takes one from what is left; `more`: than the server counts. `inQuery`: [done, left] of
 *  the query that is shown, where it is counted. */
export function showProgress({ done, total, left, more }, inQuery) {
  const bar = at("progress").querySelector("progress");
  at("in-query").hidden = !inQuery;
  // Translators: how many documents of the query are done.
  if (inQuery) at("in-query").textContent = filled(gettext("%(done)s of %(all)s for this query"), { done: inQuery[0], all: inQuery[0] + inQuery[1] });
  at("done").textContent = done;
  // Translators: so many documents wait for the rater's grade; %(number)s is such as “7” or “more than 5000”.
  at("left").textContent = more ? left : filled(gettext("%(number)s left"), { number: Math.max(0, total - done) });
  bar.max = Math.max(done, total);
  bar.value = done;
  bar.textContent = filled(gettext("%(done)s of %(total)s"), { done, total: bar.max });
}
