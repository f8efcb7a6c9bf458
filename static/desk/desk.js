// The rating desk: a key press shows the next document at once, while the outbox sends the rating.
// Without this script the form of the page does the same.

import { worked } from "./breaks.js";
import { Clock } from "./clock.js";
import { Decision, SignIn } from "./dialogs.js";
import { Drawer } from "./drawer.js";
import { listen } from "./keys.js";
import { leave } from "./leave.js";
import { jump, unfold } from "./marks.js";
import { Outbox } from "./outbox.js";
import { comment, doc, form, gradeButtons, mark, paint, prepare, prepareOne, show, showAnswer, showNothing, showOwn, showUndone } from "./page.js";
import { Past } from "./past.js";
import { announce, note, watch } from "./state.js";
import { Store } from "./store.js";
import { Tasks } from "./tasks.js";
import { uuid, Wire } from "./wire.js";
import { filled, gettext } from "./words.js";
import { opens, zoom } from "./zoom.js";

const BOUNCE = 150; // ms after a document was painted during which a press counts as meant for the one before
const LIT = 120; // ms for which the pressed button stays lit
const LOOK_AGAIN = 20_000; // ms until the next claim, when there is nothing to do
const TRY_AGAIN = 5_000; // ms until the next claim, when the server did not answer

const whenIdle = window.requestIdleCallback ?? setTimeout; // Safari has none
const at = (id) => document.getElementById(id);
const data = JSON.parse(at("desk-data").textContent);
const sheets = { cannot: at("cannot"), comment: at("comment") };

const wire = new Wire({ ...data, csrf: form.elements.csrfmiddlewaretoken.value });
const outbox = new Outbox(await Store.open(data.account), wire);
const tasks = new Tasks(wire, outbox, `${data.base}next/`, data.outlook);
const clock = new Clock();
const drawer = new Drawer(wire, data);
const past = new Past(outbox, data);

// Whether an undo is running.
let busy = false;
let undoing = Promise.resolve();
let shownAt = 0;
// "task", "wait" for an answer, "answer" to read, "none"
let view = "none";
// the key of the act whose answer the view "wait" shows
let waiting = null;
let looking = 0;
let missing = null; // the key of an undo whose document this page does not have
let warmUp = data.place; // the number of the present warm-up
let scaleChanged = false; // then the next document comes with a new page

// Showing

function look(at) {
  view = at;
  show(at);
}

function showTask(task) {
  paint(task, data.base);
  look("task");
  past.query = task.query.token;
  clock.restart();
  shownAt = Infinity;
  requestAnimationFrame(() => {
    shownAt = performance.now();
    setTimeout(() => tasks.stock());
    // All other changes wait until the document is painted.
    whenIdle(() => {
      prepare(tasks.following);
      ahead();
      announceTask(task, past.outlook);
      past.show();
    }, { timeout: 100 });
  });
}

/** Announce a task with its place among all tasks. */
function announceTask(task, { done, total, more }) {
  const n = done + 1;
  // Translators: read out when a document is shown; %(n)s of %(total)s is its place among the documents to rate.
  const words = more ? gettext("%(title)s. Query: %(query)s. %(n)s of %(total)s or more") : gettext("%(title)s. Query: %(query)s. %(n)s of %(total)s");
  const title = task.document.title || gettext("A document without a title");
  announce(filled(words, { title, query: task.query.text, n, total: Math.max(n, total) }));
}

/** Have the pictures of all tasks fetched, a task at a time. */
function ahead() {
  if (prepareOne(tasks.coming)) whenIdle(ahead);
}

function showNext() {
  if (scaleChanged) {
    scaleChanged = false; // without an answer of the server the work goes on with the old one
    leave(outbox, wire, () => location.assign(data.base));
  }
  const task = tasks.advance();
  if (task) showTask(task);
  else rest();
}

/** Show a task before all others. What was written about the present one stays with it. */
function showBefore(task) {
  if (view === "task" && tasks.current && tasks.current !== task) tasks.current.draft = comment.value;
  tasks.back(task);
  showTask(task);
}

/** There is no task: say why as soon as the server has answered, and claim again until there is one. */
async function rest() {
  clearTimeout(looking);
  if (view !== "none") showNothing(gettext("One moment …"), "");
  look("none");
  await past.written;
  await outbox.drain(); // the server counts what is left only of what it has
  const answered = await tasks.fetchAnew();
  if (view !== "none") return;
  if (tasks.length > 0 && !tasks.closed) return showNext();
  past.show();
  if (tasks.closed) showNothing(tasks.closed);
  else if (!answered) showNothing(gettext("You have rated all that was loaded."), gettext("More comes as soon as the server can be reached. Nothing is lost."));
  else showNothing(...past.outlook.words);
  looking = setTimeout(() => { if (view === "none") rest(); }, answered || tasks.closed ? LOOK_AGAIN : TRY_AGAIN);
}

// Acting

/** Whether a press counts now. One that comes too soon after a new document is refused with a note. */
function ready() {
  if (view !== "task") return false;
  if (!busy && performance.now() - shownAt >= BOUNCE) return true;
  note(gettext("That came too soon for a new document and was not counted."));
  return false;
}

/** Store the act in the outbox, and show the next task in the same frame.
 *
 *  IndexedDB is asked to write before the screen changes, and keeps the order of requests. To wait for its answer
 *  would cost the frame. What cannot be stored stays in memory, and the page says so. */
function act(kind, fields, button) {
  if (!ready()) return;
  const task = tasks.current;
  const seconds = clock.seconds;
  const sent = kind === "save" ? { ...fields, comment: comment.value, base_revision: task.base_revision, seconds: seconds.toFixed(2), scale: data.scale, guidelines: data.guidelines, presentation: task.presentation, ...(task.opened && { opened: "1" }) } : { comment: comment.value };
  const done = { key: uuid(), kind, base: data.base, token: task.token, fields: sent };
  past.written = outbox.add(done);
  closeSheets();
  tasks.did(seconds);
  whenIdle(() => worked(data.break, view === "task", () => clock.restart()), { timeout: 100 });
  task.draft = undefined;
  if (kind === "skip") task.comment = comment.value; // the server does not send the text of a known task again
  const after = { ...task, comment: comment.value };
  if (task.warm_up || data.back) {
    waitFor(done);
  } else {
    showNext();
    past.add(done, task.own, task.query.token, { task: after });
    if (location.pathname !== data.base) history.replaceState(null, "", data.base);
  }
  button.classList.add("lit");
  setTimeout(() => button.classList.remove("lit"), LIT);
}

/** Save the grade or reason of a button. Keys call it directly: to click the button would cost the frame. */
function save(button) {
  act("save", { [button.name]: button.value }, button);
}

/** Wait for the answer to a warm-up, which has the known grade, or to a rating opened from "My ratings". */
function waitFor(done) {
  waiting = done.key;
  look("wait");
}

function answered(done, answer) {
  if (waiting !== done.key) return;
  waiting = null;
  if (data.back) return location.assign(data.back);
  if (!answer.warm_up) return showNext();
  warmUp += 1;
  const last = warmUp > data.warmUps;
  // The count is that of when the page was opened; more warm-ups may have been made since.
  at("warm-up-place").textContent = last || !data.warmUps ? gettext("Warm-up.")
    : filled(gettext("Warm-up %(place)s of %(warm_ups)s."), { place: warmUp, warm_ups: data.warmUps });
  showAnswer(done.fields, answer.warm_up, last);
  look("answer");
}

/** Undo the last act, after all undos that were asked for before. */
function undo() {
  undoing = undoing.then(undoLast);
}

async function undoLast() {
  if (view === "wait") return note(gettext("One moment …"));
  busy = true;
  try {
    const last = await past.undo();
    const task = last && (last.task ?? tasks.known(last.token));
    if (task) {
      showBefore(task);
      showUndone(last.grade);
    } else if (last?.here) {
      tasks.fetch();
    } else if (last) {
      missing = last.undo;
      note(gettext("Undoing …"));
    }
  } finally {
    busy = false;
  }
  return past.show();
}

/** The server confirmed an undo; its answer has the revision for the next save. */
function undone(done, { task }) {
  if (!task) return;
  const { token, own, base_revision } = task;
  const known = tasks.known(token);
  if (!known && done.key === missing) {
    showBefore(task);
  } else if (known && outbox.acts.every((kept) => kept.token !== token)) {
    // The undo restored a rating of another window.
    if (own && !known.own) past.count(1, known.query.token);
    for (const one of [known, tasks.current]) if (one?.token === token) Object.assign(one, { own, base_revision });
    if (tasks.current?.token === token) showOwn(tasks.current);
    past.show();
  }
}

// Sheets

function closeSheets() {
  for (const sheet of Object.values(sheets)) if (sheet.matches(":popover-open")) sheet.hidePopover();
}

for (const sheet of Object.values(sheets)) {
  sheet.addEventListener("beforetoggle", (event) => {
    // A closed sheet must not keep the focus: the next key is meant as a grade, not for the comment.
    if (event.newState === "closed" && sheet.contains(document.activeElement)) document.activeElement.blur();
  });
}
comment.addEventListener("input", () => mark(comment.value));

// Wiring

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const { submitter } = event;
  if (submitter.id === "later") act("skip", {}, submitter);
  else if (submitter.name) save(submitter);
});
// Ignore the second click of a double click, which would rate the next document.
form.addEventListener("click", (event) => { if (event.detail > 1) event.preventDefault(); });
at("later").addEventListener("click", (event) => { if (event.detail > 1) event.preventDefault(); });
at("undo").addEventListener("submit", (event) => { event.preventDefault(); undo(); });
at("go-on").addEventListener("click", showNext);
at("stop").addEventListener("submit", (event) => {
  event.preventDefault();
  leave(outbox, wire, () => at("stop").submit());
});

listen({
  digit(place) {
    const open = sheets.cannot.matches(":popover-open");
    if (open) sheets.cannot.querySelectorAll("button")[place]?.click();
    return open;
  },
  // A key beside an open sheet is meant for the sheet.
  grade: (place) => { if (gradeButtons[place] && !document.querySelector(".sheet:popover-open")) save(gradeButtons[place]); },
  cannot: () => { if (view === "task") sheets.cannot.togglePopover(); },
  comment: () => { if (view === "task") sheets.comment.showPopover(); },
  keep: () => sheets.comment.hidePopover(),
  later: () => { if (!at("later").hidden) at("later").click(); },
  undo,
  full: () => unfold(doc),
  next: () => jump(doc, 1),
  previous: () => jump(doc, -1),
  zoom: () => zoom(doc),
  guidelines: () => drawer.toggle(past.last?.grade),
  mine: () => leave(outbox, wire, () => location.assign(data.mine)),
  help: () => at("help").showModal(),
}, data);
at("show-keys").hidden = false;
at("show-keys").addEventListener("click", () => at("help").showModal());
doc.addEventListener("click", (event) => {
  if (event.target.closest(".next")) jump(doc, 1);
  if (event.target.closest(".all")) unfold(doc);
  if (opens(event, doc) && tasks.current) tasks.current.opened = true;
});

const signIn = new SignIn(wire, outbox);
const decision = new Decision(outbox, {
  // Translators: in place of a title.
  titleOf: (token) => tasks.known(token)?.document.title || gettext("A document"),
  insisted: ({ key }) => past.insisted(key),
  async dropped({ key, token, refused, fields }, again, gone) {
    const dropped = past.find(key);
    if (dropped?.fresh && !refused.current) past.count(-1, dropped.query);
    past.drop(dropped);
    tasks.settled(token);
    const task = tasks.known(token);
    const waited = waiting === key;
    if (waited) waiting = null;
    if (again && task) {
      task.draft = fields.comment;
      showBefore(task);
    } else if (waited && !data.back) {
      showNext();
    }
    past.show();
    await gone;
    if (again && refused.scale > data.scale) location.assign(data.base); // these buttons are of the former scale
    else if (data.back && !again) location.assign(data.back);
  },
});
outbox.addEventListener("refused", ({ detail: { act: done } }) => { if (done.refused?.closed && done.base === data.base) rest(); });
watch(outbox, () => (outbox.state().needs ? decision.ask() : signIn.ask()));

outbox.addEventListener("revision", ({ detail: { token, revision } }) => {
  for (const one of [tasks.known(token), tasks.current]) if (one?.token === token) one.base_revision = revision;
});
outbox.addEventListener("confirmed", ({ detail: { act: done, answer } }) => {
  if (done.kind === "undo") undone(done, answer);
  else if (done.kind === "save") answered(done, answer);
  if (answer.said) note(answer.said);
  if (view === "none" && outbox.acts.length === 0) rest();
});
tasks.addEventListener("outlook", ({ detail }) => {
  past.outlook = detail;
  past.show();
});

tasks.addEventListener("guidelines", ({ detail }) => drawer.latest(detail));
tasks.addEventListener("scale", ({ detail }) => {
  scaleChanged = detail > data.scale;
  if (scaleChanged) note(gettext("The scale has changed."));
});

addEventListener("beforeunload", (event) => {
  const written = view === "task" && comment.value.trim() !== tasks.current.comment.trim();
  if (outbox.worries || written) event.preventDefault();
});
addEventListener("pageshow", (event) => { if (event.persisted) outbox.retry(); });

tasks.addEventListener("more", () => whenIdle(ahead));

// Start. Acts that an earlier page left in the outbox count as done.

await outbox.begin();
const left = outbox.acts.filter((act) => act.kind !== "undo");
tasks.take(data.tasks, data.tasks.map((task) => task.token));
for (const kept of left) {
  // If `past` has it, the server has it too, but its answer did not arrive.
  if (!past.find(kept.key)) past.add(kept, tasks.known(kept.token)?.own, tasks.known(kept.token)?.query.token);
}
past.show();
showNext();
