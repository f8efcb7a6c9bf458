// Show a task in the elements of the server's page. The form stays a form: if this script fails, its buttons still send
// what is on the screen.

import { fold, fragmentOf, marked, termsOf } from "./marks.js";
import { said } from "./said.js";
import { uuid } from "./wire.js";
import { filled, gettext } from "./words.js";

const LONG = 120; // characters; beyond it a query is a text, not a title

const at = (id) => document.getElementById(id);
const work = document.querySelector(".work");
const query = { text: work.querySelector(".query h1"), need: work.querySelector(".need"), more: work.querySelector(".more-of-query") };
export const doc = work.querySelector(".doc");
const title = doc.querySelector("h2");
const text = doc.querySelector(".text");
export const form = at("rating");
export const comment = form.elements.comment;
export const gradeButtons = [...form.querySelectorAll("button.grade")];

const made = new WeakMap(); // task → the nodes of its document
let terms = ["", new Set()]; // a query, and its words

function termsFor(query) {
  if (terms[0] !== query) terms = [query, termsOf(query)];
  return terms[1];
}

/** Make the nodes of a task's document in advance, and have its pictures fetched and decoded. */
export function prepare(task) {
  if (!task || made.has(task)) return;
  const nodes = document.adoptNode(fragmentOf(task.document.html, termsFor(task.query.text)));
  for (const picture of nodes.querySelectorAll("img")) picture.decode().catch(() => {}); // one that fails shows its text
  made.set(task, nodes);
}

/** Prepare the first of these tasks that has pictures; false: there is none to prepare. */
export function prepareOne(tasks) {
  const task = tasks.find((one) => !made.has(one) && one.document.html.includes("<img"));
  prepare(task);
  return Boolean(task);
}

/** The nodes of a task's document; prepared ones can be used once. */
function textOf(task) {
  prepare(task);
  const text = made.get(task);
  made.delete(task);
  return text;
}

/** Show a task. */
export function paint(task, base) {
  const { token, query: asked, document: shown } = task;
  const seen = scrollY; // read before any change: afterwards it would force a layout
  const top = Math.min(seen, work.offsetTop); // keeps the head of the page scrolled away
  if (query.text.textContent !== asked.text) query.text.textContent = asked.text;
  query.text.classList.toggle("long", asked.text.length > LONG);
  query.need.textContent = asked.need;
  query.need.hidden = !asked.need;
  if (query.more.dataset.html !== asked.html) {
    query.more.dataset.html = asked.html;
    query.more.replaceChildren(fragmentOf(asked.html));
  }
  // Without a title in the presentation there is a heading for screen readers only.
  // Translators: “Document” and “No title” stand in place of a title.
  const untitled = shown.title === null ? gettext("Document") : gettext("No title");
  title.replaceChildren(...(shown.title ? marked(shown.title, termsFor(asked.text)) : [untitled]));
  title.className = shown.title ? "" : shown.title === null ? "vh" : "soft";
  text.replaceChildren(textOf(task));
  fold(doc, shown.long);

  form.action = `${base}${token}/save/`;
  at("later").formAction = `${base}${token}/skip/`;
  form.elements.client_key.value = uuid();
  form.elements.presentation.value = task.presentation;
  const written = task.draft ?? task.comment;
  if (comment.value !== written) comment.value = written;
  mark(written);
  for (const button of gradeButtons) {
    button.classList.remove("lit");
    button.removeAttribute("aria-description");
  }
  showOwn(task);
  at("warm-up").hidden = !task.warm_up;
  // Translators: the title of the browser's window; “rate” is a verb.
  const name = `${filled(gettext("Rate: %(query)s"), { query: asked.text })} · Idealist`;
  if (document.title !== name) document.title = name;
  if (seen !== top) scrollTo(0, top);
}

/** Show the person's present rating of the task, and set the base revision of the next save. */
export function showOwn({ own, base_revision, warm_up }) {
  form.elements.base_revision.value = base_revision;
  for (const button of gradeButtons) {
    if (own?.grade === button.value) button.setAttribute("aria-pressed", "true");
    else button.removeAttribute("aria-pressed");
  }
  at("own").hidden = !own;
  if (own) at("own-said").replaceChildren(...said(own));
  at("later").hidden = Boolean(own) || warm_up;
}

/** Mark the grade that an undo took back, until another document is shown. */
export function showUndone(grade) {
  // Translators: said of the grade that an undo has just taken back.
  gradeButtons.find((button) => button.value === grade)?.setAttribute("aria-description", gettext("Taken back"));
}

/** Show a part of the desk: a "task", the "wait" for an answer, the "answer" of a warm-up, or "none". */
export function show(view) {
  if (work.dataset.view !== view) work.dataset.view = view;
  at("nothing").hidden = view !== "none";
  at("answer").hidden = view !== "answer";
  if (view === "answer") at("go-on").focus();
}

/** Say why there is no task: a sentence, and what happens next. */
export function showNothing(lead, more) {
  at("nothing-lead").textContent = lead;
  at("nothing-more").textContent = more;
}

/** Show the known grade of a warm-up with its explanation, beside the person's; `last`: it was the last warm-up. */
export function showAnswer(given, answer, last) {
  at("answer-said").replaceChildren(...said(given));
  at("answer-known").replaceChildren(...said(answer));
  at("answer-same").hidden = given.grade !== answer.grade;
  at("answer-why").textContent = answer.explanation;
  at("answer-last").hidden = !last;
}

/** Show on the button whether there is a comment. */
export function mark(written) {
  at("written").hidden = !written.trim();
}
