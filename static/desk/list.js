// The list: all documents of a query on one page. Without this script each of them is a form of its own.

import { worked } from "./breaks.js";
import { Clock } from "./clock.js";
import { Decision, SignIn } from "./dialogs.js";
import { Drawer } from "./drawer.js";
import { listen } from "./keys.js";
import { leave } from "./leave.js";
import { fold, jump, markIn, termsOf, unfold } from "./marks.js";
import { Outbox } from "./outbox.js";
import { Past } from "./past.js";
import { announce, note, watch } from "./state.js";
import { Store } from "./store.js";
import { uuid, Wire } from "./wire.js";
import { gettext } from "./words.js";
import { opens, zoom } from "./zoom.js";

const SLIVER = 48; // px of a document at the edge of the window that do not count as seen
const BOUNCE = 150; // ms after a document got the focus during which a press counts as meant for the one before

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("desk-data").textContent);
const goOn = at("go-on").querySelector("button");
const terms = termsOf(document.querySelector(".query h1").textContent);

/** One document of the list with the person's present rating. */
class Row {
  constructor(item, task) {
    Object.assign(this, { item, task, revision: task.base_revision, own: task.own, gone: false });
    this.doc = item.querySelector(".doc");
    this.form = item.querySelector("form.rating");
    this.title = this.doc.querySelector("h2");
    this.comment = this.form.elements.comment;
    this.stored = this.comment.value;
    if (task.document.title) markIn(this.title, terms);
    markIn(this.doc.querySelector(".text"), terms);
    fold(this.doc, task.document.long);
  }

  get open() {
    return !this.own && !this.gone;
  }

  /** Whether a comment was written that no act has. */
  get written() {
    return this.comment.value.trim() !== this.stored.trim();
  }

  show() {
    this.item.classList.toggle("is-done", !this.open);
    for (const button of this.form.querySelectorAll("button.grade, [name=reason]")) {
      if ([this.own?.grade, this.own?.reason || null].includes(button.value)) button.setAttribute("aria-pressed", "true");
      else button.removeAttribute("aria-pressed");
    }
    this.form.querySelector(".later").hidden = !this.open;
    if (!this.open) this.form.querySelector(".cannot").open = false;
  }
}

const rows = data.tasks.map((task) => new Row(document.querySelector(`[data-token="${task.token}"]`), task));
const rowOf = (token) => rows.find((row) => row.task.token === token);

const wire = new Wire({ ...data, csrf: at("undo").elements.csrfmiddlewaretoken.value });
const outbox = new Outbox(await Store.open(data.account), wire);
const clock = new Clock();

// Its acts have the state of their row `before` them.
const past = new Past(outbox, data);
past.query = data.tasks[0].query.token;

let movedAt = 0;
let undoing = Promise.resolve();

// Showing

const focused = () => rows.find((row) => row.item.contains(document.activeElement)) ?? rows.find((row) => row.open);

/** The row that a key is for; none, with a note, where it is out of sight: nobody grades what they do not see. */
function inSight() {
  const row = focused();
  const { top, bottom } = row?.item.getBoundingClientRect() ?? {};
  if (!row || (bottom > SLIVER && top < innerHeight - SLIVER)) return row;
  goTo(row);
  return note(gettext("The document of this key was out of sight. It is shown now, and the key was not counted."));
}

/** Focus a row and scroll to it. */
function goTo(row) {
  if (!row) return;
  row.doc.focus({ preventScroll: true });
  row.item.scrollIntoView({ block: "start" });
  movedAt = performance.now();
}

function move(step) {
  const now = rows.findIndex((row) => row.item.contains(document.activeElement));
  goTo(rows[now < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + step))]);
}

/** Mark the row for which a key is. */
function markNext() {
  const next = focused();
  for (const row of rows) row.item.classList.toggle("is-next", row === next);
}

function show() {
  for (const row of rows) row.show();
  markNext();
  past.show();
  goOn.hidden = rows.some((row) => row.open);
}

// Acting

/** Store an act in the outbox, and show it. */
function keep(row, kind, fields) {
  const seconds = clock.seconds.toFixed(2);
  const sent = kind === "save" ? { ...fields, comment: row.comment.value, base_revision: row.revision, seconds, shown: "list", scale: data.scale, guidelines: data.guidelines, presentation: row.task.presentation, ...(row.opened && { opened: "1" }) } : { comment: row.comment.value };
  const done = { key: uuid(), kind, base: data.base, token: row.task.token, fields: sent };
  past.written = outbox.add(done);
  past.add(done, row.own, past.query, { before: { own: row.own, gone: row.gone, stored: row.stored } });
  row.stored = row.comment.value;
  const { grade = null, reason = "" } = fields;
  Object.assign(row, kind === "save" ? { own: { grade, reason }, gone: false } : { gone: true });
  show();
}

function act(row, kind, fields) {
  if (performance.now() - movedAt < BOUNCE) return note(gettext("That came too soon for a new document and was not counted."));
  keep(row, kind, fields);
  clock.restart();
  const place = rows.indexOf(row);
  const next = [...rows.slice(place + 1), ...rows.slice(0, place)].find((other) => other.open);
  if (next) {
    goTo(next);
  } else {
    goOn.focus();
    announce(gettext("All documents of this query are done."));
  }
  worked(data.break, next || past.left > 0, () => clock.restart());
  return undefined;
}

function undo() {
  undoing = undoing.then(() => past.undo()).then((last) => {
    if (!last) return;
    const row = rowOf(last.token);
    if (row) Object.assign(row, last.before ?? { own: null, gone: false });
    else note(gettext("Undoing …"));
    show();
    goTo(row);
  });
}

/** Save a comment that was written after the grade. */
function amend(row) {
  if (row.own && row.written) keep(row, "save", row.own.grade === null ? { reason: row.own.reason } : { grade: row.own.grade });
}

document.addEventListener("focusin", markNext);
document.addEventListener("focusout", () => setTimeout(markNext)); // when the focus has arrived elsewhere, or nowhere
for (const row of rows) {
  row.comment.addEventListener("change", () => amend(row));
  row.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { submitter } = event;
    if (submitter.classList.contains("later")) act(row, "skip", {});
    else if (submitter.name) act(row, "save", { [submitter.name]: submitter.value });
  });
  // Ignore the second click of a double click, which would rate the next document.
  row.item.addEventListener("click", (event) => {
    // Safari focuses no button that is clicked, and the next key is meant for this document.
    if (!row.item.contains(document.activeElement)) row.doc.focus({ preventScroll: true });
    if (event.detail > 1 && event.target.closest("form")) event.preventDefault();
    if (event.target.closest(".next")) jump(row.doc, 1);
    if (event.target.closest(".all")) unfold(row.doc);
    if (opens(event, row.doc)) row.opened = true;
  });
}
at("undo").addEventListener("submit", (event) => { event.preventDefault(); undo(); });

for (const form of [at("stop"), at("go-on")]) {
  form.addEventListener("submit", (event) => { event.preventDefault(); leave(outbox, wire, () => form.submit()); });
}

// Keys

const drawer = new Drawer(wire, data);

function reasons() {
  const row = rows.find((one) => one.form.querySelector(".cannot").open && one.item.contains(document.activeElement));
  return row && [...row.form.querySelectorAll("[name=reason]")];
}

listen({
  digit(place) {
    const open = reasons();
    open?.[place]?.click();
    return Boolean(open);
  },
  grade: (place) => inSight()?.form.querySelectorAll("button.grade")[place]?.click(),
  cannot() {
    const row = focused();
    if (!row) return;
    const details = row.form.querySelector(".cannot");
    details.open = !details.open;
    if (!details.open) return;
    details.querySelector("summary").focus({ preventScroll: true });
    details.scrollIntoView({ block: "nearest" }); // all reasons, not only the first above the bar
  },
  comment() {
    const row = focused();
    if (!row) return;
    row.form.querySelector(".comment").open = true;
    row.comment.focus();
  },
  keep: () => focused()?.doc.focus(),
  later: () => { const button = inSight()?.form.querySelector(".later"); if (button && !button.hidden) button.click(); },
  undo,
  full: () => { const row = focused(); if (row) unfold(row.doc); },
  next: () => { const row = focused(); if (row) jump(row.doc, 1); },
  previous: () => { const row = focused(); if (row) jump(row.doc, -1); },
  down: () => move(1),
  up: () => move(-1),
  zoom: () => zoom(focused()?.doc),
  guidelines: () => drawer.toggle(past.last?.grade),
  mine: () => leave(outbox, wire, () => location.assign(data.mine)),
  help: () => at("help").showModal(),
}, data);
at("show-keys").hidden = false;
at("show-keys").addEventListener("click", () => at("help").showModal());

// The server

const signIn = new SignIn(wire, outbox);
const decision = new Decision(outbox, {
  titleOf: (token) => rowOf(token)?.title.textContent || gettext("A document"),
  insisted: ({ key }) => past.insisted(key),
  async dropped({ key, seq, token, refused }, again, gone) {
    const dropped = past.find(key);
    past.drop(dropped);
    if (dropped?.fresh && !refused.current) past.count(-1, dropped.query);
    const row = rowOf(token);
    if (row && !outbox.acts.some((kept) => kept.token === token && kept.seq > seq)) {
      const before = refused.status === 409 ? { own: refused.current, gone: false } : (dropped?.before ?? { own: null, gone: false });
      Object.assign(row, before, refused.status === 404 ? { gone: true } : {}, { revision: refused.revision ?? row.revision });
    }
    if (again && row) row.stored = row.task.comment;
    show();
    if (again) goTo(row);
    await gone;
    if (again && refused.scale > data.scale) location.reload(); // these buttons are of the former scale
  },
});
watch(outbox, () => (outbox.state().needs ? decision.ask() : signIn.ask()));

outbox.addEventListener("revision", ({ detail: { token, revision } }) => {
  const row = rowOf(token);
  if (row) row.revision = revision;
});
outbox.addEventListener("confirmed", ({ detail: { act: done, answer } }) => {
  const row = rowOf(answer.task?.token ?? done.token);
  if (row && answer.task && outbox.acts.every((kept) => kept.token !== answer.task.token)) {
    const { own } = answer.task;
    // The undo restored a rating of another window.
    if (own && !row.own) past.count(1, past.query);
    row.own = own;
    show();
  }
  if (answer.said) note(answer.said);
});
addEventListener("beforeunload", (event) => { if (outbox.worries || rows.some((row) => row.written)) event.preventDefault(); });
addEventListener("pageshow", (event) => { if (event.persisted) outbox.retry(); });

// Start. Acts that an earlier page left in the outbox count as done.

await outbox.begin();
for (const kept of outbox.acts.filter((one) => one.kind !== "undo")) {
  const { key, kind, token, fields: { grade = null, reason = "" } } = kept;
  const row = rowOf(token);
  // If `past` has it, the server has it too, but its answer did not arrive.
  if (!past.find(key)) past.add(kept, row?.own, row && past.query);
  if (row) Object.assign(row, kind === "save" ? { own: { grade, reason } } : { gone: true });
}
show();
clock.restart();
