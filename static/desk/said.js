// What both forms of the desk say of grades, and of how far the rater is.

const at = (id) => document.getElementById(id);

/** Nodes that say a grade or a reason: "[2] Good", "cannot judge, the query is unclear". */
export function said({ grade, reason }) {
  const button = grade && document.querySelector(`button.grade[value="${CSS.escape(grade)}"]`);
  if (button) return [button.querySelector(".g").cloneNode(true), ` ${button.querySelector("span:not(.g)").textContent}`];
  if (grade) return [grade]; // a step that the scale no longer has
  const because = reason && document.querySelector(`[name=reason][value="${CSS.escape(reason)}"] .why`);
  return [because ? `cannot judge: “${because.textContent}”` : "put off"];
}

/** What undo would take back, or nothing. */
export function showLast(act) {
  at("last").hidden = !act;
  if (act) at("last-said").replaceChildren(...said(act));
}

/** How far the rater is. */
export function showProgress({ done, left, more }) {
  const bar = at("progress").querySelector("progress");
  at("done").textContent = done;
  at("left").textContent = `about ${left}${more ? "+" : ""} left`;
  bar.max = done + left;
  bar.value = done;
  bar.textContent = `${done} of about ${done + left}`;
}
