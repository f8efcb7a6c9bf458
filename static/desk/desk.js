// The rating desk: a key press shows the next document at once, and the outbox sees to it that the rating arrives.
// Without this file the same form works by mouse, touch and Tab.

import { worked } from "./breaks.js";
import { Clock } from "./clock.js";
import { Decision, SignIn } from "./dialogs.js";
import { Drawer } from "./drawer.js";
import { listen } from "./keys.js";
import { leave } from "./leave.js";
import { jump, unfold } from "./marks.js";
import { Outbox } from "./outbox.js";
import { comment, doc, form, gradeButtons, mark, paint, prepare, show, showAnswer, showNothing, showOwn } from "./page.js";
import { showLast, showProgress } from "./said.js";
import { announce, note, watch } from "./state.js";
import { Store } from "./store.js";
import { Tasks } from "./tasks.js";
import { uuid, Wire } from "./wire.js";

const BOUNCE = 150; // ms after a document was painted: a press as soon as that was meant for the one before
const LIT = 120; // ms that the button that was pressed shines on, beside the next document
const BACK = 20; // acts that undo can take back
const LOOK_AGAIN = 20_000; // ms, when there is nothing to do
const TRY_AGAIN = 5_000; // ms, when the server did not say whether there is

const whenIdle = window.requestIdleCallback ?? setTimeout; // Safari has none
const at = (id) => document.getElementById(id);
const data = JSON.parse(at("desk-data").textContent);
const sheets = { cannot: at("cannot"), comment: at("comment") };

const wire = new Wire({ ...data, csrf: form.elements.csrfmiddlewaretoken.value });
const outbox = new Outbox(await Store.open(data.account), wire);
const tasks = new Tasks(wire, outbox, `${data.base}next/`);
const clock = new Clock();
const drawer = new Drawer(wire, data);

let outlook = data.outlook;
let past = data.last; // what undo can take back, latest last: {key, token, task, grade, reason, fresh}
let busy = false; // an act is being taken back
let written = null; // resolves when the last act is kept
let undoing = Promise.resolve();
let shownAt = 0;
let view = "none"; // "task", "wait" for an answer, "answer" to read, "none"
let waiting = null; // the key of the act whose answer is waited for
let looking = 0;
let missing = null; // the key of the undo whose document only the server has
let warmUp = data.place; // which of the warm-ups comes now

// Showing

function look(at) {
  view = at;
  show(at);
}

function showTask(task) {
  paint(task, data.base);
  look("task");
  clock.restart();
  shownAt = Infinity;
  requestAnimationFrame(() => {
    shownAt = performance.now();
    setTimeout(() => tasks.stock());
    // What else changes has time until the document is there.
    whenIdle(() => {
      prepare(tasks.following);
      announce(`${task.document.title || "A document without a title"}. Query: ${task.query.text}. ${outlook.done + 1} of about ${outlook.done + outlook.left}`);
      showCounts();
    }, { timeout: 100 });
  });
}

function showNext() {
  const task = tasks.advance();
  if (task) showTask(task);
  else rest();
}

function showCounts() {
  showProgress(outlook);
  showLast(past.at(-1));
}

/** Nothing to show. Say why as soon as it is known, and look again until there is something. */
async function rest() {
  clearTimeout(looking);
  if (view !== "none") showNothing("One moment …", "");
  look("none");
  await written;
  await outbox.drain(); // only when the server has everything can it tell what is left
  const answered = await tasks.fetchAnew();
  if (view !== "none") return;
  if (tasks.length > 0) return showNext();
  showCounts();
  if (!answered) showNothing("You have rated all that was loaded.", "More comes as soon as the server can be reached. Nothing is lost.");
  else showNothing(...outlook.words);
  looking = setTimeout(() => { if (view === "none") rest(); }, answered ? LOOK_AGAIN : TRY_AGAIN);
}

// Acting

/** Whether a press counts now. One that comes too soon was meant for the document before: it is told. */
function ready() {
  if (view !== "task") return false;
  if (!busy && performance.now() - shownAt >= BOUNCE) return true;
  note("That came too soon for a new document and was not counted.");
  return false;
}

/** Have the act written down, and show what comes next in the same frame.
 *
 *  The browser is asked to write before anything changes on the screen, and writes in the order in which it was asked.
 *  To wait for its answer as well would cost the frame. What it cannot write the outbox keeps in memory, and says so. */
function act(kind, fields, button) {
  if (!ready()) return;
  const task = tasks.current;
  const seconds = clock.seconds;
  const sent = kind === "save" ? { ...fields, comment: comment.value, base_revision: task.base_revision, seconds: seconds.toFixed(2), guidelines: data.guidelines } : { comment: comment.value };
  const done = { key: uuid(), kind, base: data.base, token: task.token, fields: sent };
  written = outbox.add(done);
  closeSheets();
  tasks.did(seconds);
  whenIdle(() => worked(data.break, () => clock.restart()), { timeout: 100 });
  if (kind === "skip") task.comment = comment.value; // it comes again, and its text is not sent a second time
  const after = { ...task, comment: comment.value };
  if (task.warm_up || data.back) {
    waitFor(done);
  } else {
    showNext();
    remember(done, after);
    if (location.pathname !== data.base) history.replaceState(null, "", data.base);
  }
  button.classList.add("lit");
  setTimeout(() => button.classList.remove("lit"), LIT);
}

/** What a button for a grade or a reason says. A key comes here at once: a click on the way would cost the frame. */
function save(button) {
  act("save", { [button.name]: button.value }, button);
}

function remember(done, task) {
  const { grade = null, reason = "" } = done.fields;
  const fresh = done.kind === "save" && !task.own;
  past = [...past, { key: done.key, token: done.token, task, grade, reason, fresh }].slice(-BACK);
  if (fresh) count(1);
}

function count(step) {
  outlook = { ...outlook, done: outlook.done + step, left: Math.max(0, outlook.left - step) };
}

/** A warm-up tells the known grade, and a rating opened from the list leads back there: both once it has arrived. */
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
  // Warm-ups that were made while this page was open are not counted here.
  at("warm-up-place").textContent = last || !data.warmUps ? "" : ` ${warmUp} of ${data.warmUps}`;
  showAnswer(done.fields, answer.warm_up, last);
  look("answer");
}

/** One after the other, however fast the presses come. */
function undo() {
  undoing = undoing.then(undoLast);
}

async function undoLast() {
  if (view === "wait") return;
  const last = past.at(-1);
  if (!last) return note("There is nothing to undo.");
  busy = true;
  try {
    await written; // what is being written cannot be taken back yet
    past = past.slice(0, -1);
    const here = await outbox.takeBack(last.key);
    const key = uuid();
    if (!here) {
      await outbox.add({ key, kind: "undo", base: data.base, token: last.token ?? "", fields: last.key ? { act: last.key } : {} });
    }
    if (last.fresh) count(-1);
    const task = last.task ?? tasks.known(last.token);
    if (task) {
      tasks.back(task);
      showTask(task);
    } else if (here) {
      tasks.fetch();
    } else {
      missing = key;
      note("Undoing …");
    }
  } finally {
    busy = false;
  }
  showCounts();
}

/** The server undid: what it says of the task now is what the next save stands on. */
function undone(done, { task }) {
  if (!task) return;
  const { token, own, base_revision } = task;
  const known = tasks.known(token);
  if (!known && done.key === missing) {
    tasks.back(task);
    showTask(task);
  } else if (known && outbox.acts.every((kept) => kept.token !== token)) {
    if (own && !known.own) count(1); // what another window had saved stands again
    for (const one of [known, tasks.current]) if (one?.token === token) Object.assign(one, { own, base_revision });
    if (tasks.current?.token === token) showOwn(tasks.current);
    showCounts();
  }
}

// Sheets

function closeSheets() {
  for (const sheet of Object.values(sheets)) if (sheet.matches(":popover-open")) sheet.hidePopover();
}

for (const sheet of Object.values(sheets)) {
  sheet.addEventListener("beforetoggle", (event) => {
    // A closed sheet must not keep the focus: the next key is a grade, not a letter of the comment.
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
// The second click of a double click was not meant for the document that the first one brought.
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
  grade: (place) => { if (gradeButtons[place]) save(gradeButtons[place]); },
  cannot: () => { if (view === "task") sheets.cannot.togglePopover(); },
  comment: () => { if (view === "task") sheets.comment.showPopover(); },
  keep: () => sheets.comment.hidePopover(),
  later: () => { if (!at("later").hidden) at("later").click(); },
  undo,
  full: () => unfold(doc),
  next: () => jump(doc, 1),
  previous: () => jump(doc, -1),
  guidelines: () => drawer.toggle(past.at(-1)?.grade),
  mine: () => leave(outbox, wire, () => location.assign(data.mine)),
  help: () => at("help").showModal(),
}, data.account);
at("show-keys").hidden = false;
at("show-keys").addEventListener("click", () => at("help").showModal());
doc.addEventListener("click", (event) => {
  if (event.target.closest(".next")) jump(doc, 1);
  if (event.target.closest(".all")) unfold(doc);
});

const signIn = new SignIn(wire, outbox);
const decision = new Decision(outbox, {
  titleOf: (token) => tasks.known(token)?.document.title || "A document",
  insisted({ key }) {
    // It was decided last and is taken back first, whatever was done since it was refused.
    const decided = past.find((act) => act.key === key);
    if (decided) past = [...past.filter((act) => act !== decided), decided];
    showCounts();
  },
  async dropped({ key, token, refused }, again, gone) {
    if (past.some((act) => act.key === key && act.fresh) && !refused.current) count(-1);
    past = past.filter((act) => act.key !== key);
    tasks.settled(token);
    const task = tasks.known(token);
    const waited = waiting === key;
    if (waited) waiting = null;
    if (again && task) {
      tasks.back(task);
      showTask(task);
    } else if (waited && !data.back) {
      showNext();
    }
    showCounts();
    await gone;
    if (data.back && !again) location.assign(data.back);
  },
});
watch(outbox, () => (outbox.state().needs ? decision.ask() : signIn.ask()));

outbox.addEventListener("confirmed", ({ detail: { act: done, answer } }) => {
  if (done.kind === "undo") undone(done, answer);
  else if (done.kind === "save") answered(done, answer);
  if (answer.said) note(answer.said);
  if (view === "none" && outbox.acts.length === 0) rest();
});
tasks.addEventListener("outlook", ({ detail }) => {
  // What is done here and not sent yet is done all the same.
  outlook = detail;
  count(outbox.acts.filter((kept) => kept.kind === "save" && !tasks.known(kept.token)?.own).length);
  showCounts();
});

tasks.addEventListener("guidelines", ({ detail }) => drawer.latest(detail));

addEventListener("beforeunload", (event) => {
  const plain = (text) => text.replaceAll("\r\n", "\n").trim(); // as a form without a script sends it
  const written = view === "task" && plain(comment.value) !== plain(tasks.current.comment);
  if (outbox.worries || written) event.preventDefault();
});
addEventListener("pageshow", (event) => { if (event.persisted) outbox.retry(); });

// Beginning: what an earlier page left in the outbox is done already.

await outbox.begin();
const left = outbox.acts.filter((act) => act.kind !== "undo");
tasks.take(data.tasks, data.tasks.map((task) => task.token));
for (const kept of left) {
  if (past.some((act) => act.key === kept.key)) continue; // the server has it, and did not come to say so
  const { grade = null, reason = "" } = kept.fields;
  const fresh = kept.kind === "save" && !tasks.known(kept.token)?.own;
  past = [...past, { key: kept.key, token: kept.token, task: null, grade, reason, fresh }].slice(-BACK);
  if (fresh) count(1);
}
showCounts();
showNext();
