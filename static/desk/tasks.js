// The tasks that come next, loaded in advance, so that a document never waits for the network.

const FEWEST = 3;
const MOST = 10;
const WORTH = 60; // seconds of work that are loaded in advance
const HELD = 20; // tasks that the server leases to a rater at most
const COUNT_ANEW = 60_000; // ms between two counts of what is left
const RENEW = 5 * 60_000; // ms between two renewals of the leases

/** The tasks that come next. Its events: "more", when tasks came; "outlook" {outlook}, now and then, when the server has
 *  all acts; "guidelines" {version} and "scale" {version}, the latest. */
export class Tasks extends EventTarget {
  #wire;
  #outbox;
  #path;
  #next = [];
  #known = new Map();
  #done = new Map(); // token → the number of the first claim whose answer knows that it was done
  #claims = 0;
  #counted = Date.now(); // when what is left was counted
  #isUnsure = false; // whether the last count may have been without an act, or with one that counts here, too
  #queries; // of which it was counted; null where none is
  #changes = 0; // of the outbox
  #claiming = null;
  #last = false; // whether the last claim brought fewer than it asked for
  #pace = 12; // seconds for a document

  current;
  closed = ""; // the answer to the last claim where the person rates here no longer

  constructor(wire, outbox, path, outlook) {
    super();
    this.#queries = outlook.queries;
    this.#wire = wire;
    this.#outbox = outbox;
    this.#path = path;
    outbox.addEventListener("confirmed", ({ detail: { act } }) => {
      if (act.kind === "undo") return;
      if (this.#done.has(act.token)) this.settled(act.token);
      else this.#next = this.#next.filter((task) => task.token !== act.token); // done in another tab
    });
    outbox.addEventListener("change", () => {
      this.#changes += 1;
      this.#countAgain();
    });
    setInterval(() => { if (!document.hidden) this.fetch(); }, RENEW);
  }

  get length() {
    return this.#next.length;
  }

  /** The tasks after the current one. */
  get coming() {
    return this.#next;
  }

  /** The task after the current one. */
  get following() {
    return this.#next[0];
  }

  /** A task that this page has ever had, by token. */
  known(token) {
    return this.#known.get(token);
  }

  /** Take over the tasks and their order from an answer, without those that were done here meanwhile. */
  take(tasks, order, claim = 0) {
    for (const task of tasks) this.#known.set(task.token, { ...this.#known.get(task.token), ...task });
    const unsent = new Set(this.#outbox.acts.filter((act) => act.kind !== "undo").map((act) => act.token));
    const open = (token) => !unsent.has(token) && (this.#done.get(token) ?? 0) <= claim;
    this.#next = order.filter((token) => open(token) && this.#known.has(token) && token !== this.current?.token)
      .map((token) => this.#known.get(token));
    this.dispatchEvent(new CustomEvent("more"));
  }

  /** Make the next task the current one; undefined without one. */
  advance() {
    this.current = this.#next.shift();
    return this.current;
  }

  /** Claim more if few are left. */
  stock() {
    // Near the end the server gives fewer than were asked for: do not claim at every step.
    if (this.#next.length < (this.#last ? 2 : Math.ceil(this.#wanted / 2)) || this.#isNew(this.current)) this.fetch();
  }

  /** Whether it is of a query of which nothing is counted yet. */
  #isNew(task) {
    return Boolean(task && !task.warm_up && this.#queries && !(task.query.token in this.#queries));
  }

  /** The current task was done in so many seconds, and is left out until it is undone or given out anew. */
  did(seconds) {
    this.#done.set(this.current.token, Infinity);
    this.current = undefined;
    this.#pace = 0.7 * this.#pace + 0.3 * Math.max(seconds, 0.5);
  }

  /** The server has the act on a task: later answers decide about it. */
  settled(token) {
    this.#done.set(token, this.#claims + 1);
  }

  /** Put a task before all others. */
  back(task) {
    this.#done.delete(task.token);
    this.#known.set(task.token, task);
    if (this.current && this.current !== task) this.#next.unshift(this.current);
    this.#next = this.#next.filter(({ token }) => token !== task.token);
    this.current = task;
  }

  get #wanted() {
    return Math.min(MOST, Math.max(FEWEST, Math.round(WORTH / this.#pace)));
  }

  /** Claim tasks. Resolves to whether the server answered; concurrent calls are one request. */
  fetch() {
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = null;
      this.#countAgain();
    });
    return this.#claiming;
  }

  /** Count what is left once more, as soon as the server has all acts. */
  #countAgain() {
    if (this.#isUnsure && !this.#claiming && this.#outbox.acts.length === 0) this.fetch();
  }

  /** Claim with a new request: the answer to a running one may be outdated. */
  async fetchAnew() {
    await this.#claiming;
    return this.fetch();
  }

  async #claim() {
    const claim = ++this.#claims;
    // Unsent acts are still leases on the server.
    const unsent = this.#outbox.acts.filter((act) => act.kind === "save").length;
    const count = Math.min(HELD, this.#wanted + 1 + unsent);
    // The server sends only tasks that are not in `have`.
    const here = [this.current, ...this.#next, ...this.#outbox.acts].filter((one) => one?.token);
    const have = here.map((one) => one.token).filter((token) => this.#known.has(token)).join(" ");
    const isNew = [this.current, ...this.#next].some((task) => this.#isNew(task));
    const isSettled = this.#outbox.acts.length === 0;
    const changes = this.#changes;
    const outlook = isNew || this.#isUnsure || Date.now() - this.#counted > COUNT_ANEW ? "1" : "";
    this.#isUnsure = false; // a claim that fails is not repeated at once
    const { status, body } = await this.#wire.post(this.#path, { count, have, outlook });
    if (status === 401 && body) this.#outbox.leave();
    this.closed = body?.closed ? body.error : "";
    if (status !== 200 || !body?.order) return false;
    this.#last = body.order.length < count;
    this.take(body.tasks, body.order, claim);
    this.dispatchEvent(new CustomEvent("guidelines", { detail: body.guidelines }));
    this.dispatchEvent(new CustomEvent("scale", { detail: body.scale }));
    if (body.outlook) this.#isUnsure = !isSettled || changes !== this.#changes;
    if (body.outlook && !this.#isUnsure) {
      this.#counted = Date.now();
      this.#queries = body.outlook.queries;
      this.dispatchEvent(new CustomEvent("outlook", { detail: body.outlook }));
    }
    return true;
  }
}
