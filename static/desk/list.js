// All documents of a query on one page, each with its own grades. Without this file each is a form of its own.

import { worked } from "./breaks.js";
import { Clock } from "./clock.js";
import { Decision, SignIn } from "./dialogs.js";
import { Drawer } from "./drawer.js";
import { listen } from "./keys.js";
import { leave } from "./leave.js";
import { fold, jump, marked, paragraphs, termsOf, unfold } from "./marks.js";
import { Outbox } from "./outbox.js";
import { showLast, showProgress } from "./said.js";
import { announce, note, watch } from "./state.js";
import { Store } from "./store.js";
import { uuid, Wire } from "./wire.js";

const BOUNCE = 150; // ms after the focus came to a document: a press as soon as that was meant for the one before
const BACK = 20; // acts that undo can take back

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("desk-data").textContent);
const goOn = at("go-on").querySelector("button");
const terms = termsOf(document.querySelector(".query h1").textContent);

/** One document of the list, with what the person says of it now. */
class Row {
  constructor(item, task) {
    Object.assign(this, { item, task, revision: task.base_revision, own: task.own, gone: false });
    this.doc = item.querySelector(".doc");
    this.form = item.querySelector("form.rating");
    this.title = this.doc.querySelector("h2");
    this.comment = this.form.elements.comment;
    if (task.document.title) this.title.replaceChildren(...marked(task.document.title, terms));
    if (task.document.body) this.doc.querySelector(".text").replaceChildren(paragraphs(task.document.body, terms));
    fold(this.doc, task.document.body);
  }

  get open() {
    return !this.own && !this.gone;
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

let outlook = data.outlook;
let past = data.last; // what undo can take back, latest last: {key, token, grade, reason, before}
let movedAt = 0;
let undoing = Promise.resolve();
let written = null;

// Showing

const focused = () => rows.find((row) => row.item.contains(document.activeElement)) ?? rows.find((row) => row.open);

/** Bring a row before the person. */
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

function show() {
  for (const row of rows) row.show();
  showProgress(outlook);
  showLast(past.at(-1));
  goOn.hidden = rows.some((row) => row.open);
}

function count(step) {
  outlook = { ...outlook, done: outlook.done + step, left: Math.max(0, outlook.left - step) };
}

// Acting

function act(row, kind, fields) {
  if (performance.now() - movedAt < BOUNCE) return note("That came too soon for a new document and was not counted.");
  const seconds = clock.seconds.toFixed(2);
  const sent = kind === "save" ? { ...fields, comment: row.comment.value, base_revision: row.revision, seconds, shown: "list", guidelines: data.guidelines } : { comment: row.comment.value };
  const key = uuid();
  written = outbox.add({ key, kind, base: data.base, token: row.task.token, fields: sent });
  const { grade = null, reason = "" } = fields;
  const fresh = kind === "save" && !row.own;
  past = [...past, { key, token: row.task.token, grade, reason, fresh, before: { own: row.own, gone: row.gone } }].slice(-BACK);
  Object.assign(row, kind === "save" ? { own: { grade, reason }, gone: false } : { gone: true });
  if (fresh) count(1);
  clock.restart();
  show();
  const place = rows.indexOf(row);
  const next = [...rows.slice(place + 1), ...rows.slice(0, place)].find((other) => other.open);
  if (next) {
    goTo(next);
  } else {
    goOn.focus();
    announce("All documents of this query are done.");
  }
  worked(data.break, () => clock.restart());
  return undefined;
}

function undo() {
  undoing = undoing.then(undoLast);
}

async function undoLast() {
  const last = past.at(-1);
  if (!last) return note("There is nothing to undo.");
  await written; // what is being written cannot be taken back yet
  past = past.slice(0, -1);
  const here = await outbox.takeBack(last.key);
  if (!here) await outbox.add({ key: uuid(), kind: "undo", base: data.base, token: last.token ?? "", fields: last.key ? { act: last.key } : {} });
  if (last.fresh) count(-1);
  const row = rowOf(last.token);
  if (row) Object.assign(row, last.before ?? { own: null, gone: false });
  else note("Undoing …");
  show();
  goTo(row);
  return undefined;
}

for (const row of rows) {
  row.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { submitter } = event;
    if (submitter.classList.contains("later")) act(row, "skip", {});
    else if (submitter.name) act(row, "save", { [submitter.name]: submitter.value });
  });
  // The second click of a double click was not meant for the document that the first one brought.
  row.item.addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest("form")) event.preventDefault();
    if (event.target.closest(".next")) jump(row.doc, 1);
    if (event.target.closest(".all")) unfold(row.doc);
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
  grade: (place) => focused()?.form.querySelectorAll("button.grade")[place]?.click(),
  cannot() {
    const row = focused();
    if (!row) return;
    const details = row.form.querySelector(".cannot");
    details.open = !details.open;
    if (details.open) details.querySelector("summary").focus();
  },
  comment() {
    const row = focused();
    if (!row) return;
    row.form.querySelector(".comment").open = true;
    row.comment.focus();
  },
  keep: () => focused()?.doc.focus(),
  later: () => { const button = focused()?.form.querySelector(".later"); if (button && !button.hidden) button.click(); },
  undo,
  full: () => { const row = focused(); if (row) unfold(row.doc); },
  next: () => { const row = focused(); if (row) jump(row.doc, 1); },
  previous: () => { const row = focused(); if (row) jump(row.doc, -1); },
  down: () => move(1),
  up: () => move(-1),
  guidelines: () => drawer.toggle(past.at(-1)?.grade),
  mine: () => leave(outbox, wire, () => location.assign(data.mine)),
  help: () => at("help").showModal(),
}, data.account);
at("show-keys").hidden = false;
at("show-keys").addEventListener("click", () => at("help").showModal());

// The server

const signIn = new SignIn(wire, outbox);
const decision = new Decision(outbox, {
  titleOf: (token) => rowOf(token)?.title.textContent || "A document",
  insisted({ key }) {
    // It was decided last and is taken back first, whatever was done since it was refused.
    const decided = past.find((one) => one.key === key);
    if (decided) past = [...past.filter((one) => one !== decided), decided];
    show();
  },
  dropped({ key, seq, token, refused }, again) {
    const dropped = past.find((one) => one.key === key);
    past = past.filter((one) => one !== dropped);
    if (dropped?.fresh && !refused.current) count(-1);
    const row = rowOf(token);
    if (row && !outbox.acts.some((kept) => kept.token === token && kept.seq > seq)) {
      const before = refused.status === 409 ? { own: refused.current, gone: false } : (dropped?.before ?? { own: null, gone: false });
      Object.assign(row, before, refused.status === 404 ? { gone: true } : {}, { revision: refused.revision ?? row.revision });
    }
    show();
    if (again) goTo(row);
  },
});
watch(outbox, () => (outbox.state().needs ? decision.ask() : signIn.ask()));

outbox.addEventListener("confirmed", ({ detail: { act: done, answer } }) => {
  const row = rowOf(answer.task?.token ?? done.token);
  if (row && answer.revision !== undefined) row.revision = answer.revision;
  if (row && answer.task && outbox.acts.every((kept) => kept.token !== answer.task.token)) {
    const { own } = answer.task;
    if (own && !row.own) count(1); // what another window had saved stands again
    row.own = own;
    show();
  }
  if (answer.said) note(answer.said);
});
addEventListener("beforeunload", (event) => { if (outbox.worries) event.preventDefault(); });
addEventListener("pageshow", (event) => { if (event.persisted) outbox.retry(); });

// Beginning: what an earlier page left in the outbox is done already.

await outbox.begin();
for (const { key, kind, token, fields: { grade = null, reason = "" } } of outbox.acts.filter((one) => one.kind !== "undo")) {
  const row = rowOf(token);
  const fresh = kind === "save" && !row?.own;
  if (!past.some((act) => act.key === key)) { // else the server has it, and did not come to say so
    past = [...past, { key, token, grade, reason, fresh }].slice(-BACK);
    if (fresh) count(1);
  }
  if (row) Object.assign(row, kind === "save" ? { own: { grade, reason } } : { gone: true });
}
show();
clock.restart();
