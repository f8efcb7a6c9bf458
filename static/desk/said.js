// Grades and progress as text, for both forms of the desk.

const at = (id) => document.getElementById(id);

/** The nodes of a grade or a reason: "[2] Good", "cannot judge, the query is unclear". */
export function said({ grade, reason }) {
  const button = grade && document.querySelector(`button.grade[value="${CSS.escape(grade)}"]`);
  if (button) return [button.querySelector(".g").cloneNode(true), ` ${button.querySelector("span:not(.g)").textContent}`];
  if (grade) return [grade]; // a grade that the scale no longer has
  const because = reason && document.querySelector(`[name=reason][value="${CSS.escape(reason)}"] .why`);
  return [because ? `cannot judge: “${because.textContent}”` : "put off"];
}

/** Show the act that undo would take back. */
export function showLast(act) {
  at("last").hidden = !act;
  if (act) at("last-said").replaceChildren(...said(act));
}

/** Show the progress. Each answer takes one from what is left; `more`: than the server counts. */
export function showProgress({ done, total, left, more }) {
  const bar = at("progress").querySelector("progress");
  at("done").textContent = done;
  at("left").textContent = `${more ? left : Math.max(0, total - done)} left`;
  bar.max = Math.max(done, total);
  bar.value = done;
  bar.textContent = `${done} of ${bar.max}`;
}
