// What is to be judged next, held in memory only: a document never waits for the network.

const FEWEST = 3;
const MOST = 10;
const WORTH = 60; // seconds of work that are fetched ahead
const HELD = 20; // what the server lets a rater hold at most
const COUNT_ANEW = 60_000; // ms between two counts of what is left: others rate, too
const RENEW = 5 * 60_000; // ms between two signs to the server that the person is still there

/** The documents that come next. Tells by events: "more" when some came, "outlook" {outlook} now and then,
 *  "guidelines" {version}: the latest. */
export class Tasks extends EventTarget {
  #wire;
  #outbox;
  #path;
  #next = [];
  #known = new Map();
  #done = new Map(); // token -> number of the claim from which on the server knows that it was done
  #claims = 0;
  #counted = Date.now(); // when what is left was counted
  #claiming = null;
  #last = false; // whether the last claim brought fewer than it asked for
  #pace = 12; // seconds a document, at first

  current;

  constructor(wire, outbox, path) {
    super();
    this.#wire = wire;
    this.#outbox = outbox;
    this.#path = path;
    outbox.addEventListener("confirmed", ({ detail: { act } }) => {
      if (act.kind === "undo") return;
      if (this.#done.has(act.token)) this.settled(act.token);
      else this.#next = this.#next.filter((task) => task.token !== act.token); // done in another tab
    });
    setInterval(() => { if (!document.hidden) this.fetch(); }, RENEW);
  }

  get length() {
    return this.#next.length;
  }

  /** The task after the current one. */
  get following() {
    return this.#next[0];
  }

  /** Every task that this page has ever had, by token. */
  known(token) {
    return this.#known.get(token);
  }

  /** Take in what the server says is held, in its order. What was done here meanwhile is not to do any more. */
  take(tasks, order, claim = 0) {
    for (const task of tasks) this.#known.set(task.token, { ...this.#known.get(task.token), ...task });
    const unsent = new Set(this.#outbox.acts.filter((act) => act.kind !== "undo").map((act) => act.token));
    const open = (token) => !unsent.has(token) && (this.#done.get(token) ?? 0) <= claim;
    this.#next = order.filter((token) => open(token) && this.#known.has(token) && token !== this.current?.token)
      .map((token) => this.#known.get(token));
    this.dispatchEvent(new CustomEvent("more"));
  }

  /** The next task, now the current one, or undefined. */
  advance() {
    this.current = this.#next.shift();
    return this.current;
  }

  /** Ask for more where few are left. */
  stock() {
    // Near the end the server gives fewer than asked for: then to ask at every step brings nothing.
    if (this.#next.length < (this.#last ? 2 : Math.ceil(this.#wanted / 2))) this.fetch();
  }

  /** The current task was done in so many seconds: not to do again until it is undone, or given out anew. */
  did(seconds) {
    this.#done.set(this.current.token, Infinity);
    this.current = undefined;
    this.#pace = 0.7 * this.#pace + 0.3 * Math.max(seconds, 0.5);
  }

  /** The server knows what became of a task that was done here: what it says from now on holds. */
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

  /** Ask the server for more. Resolves to whether it answered; two at once are one. */
  fetch() {
    this.#claiming ??= this.#claim().finally(() => { this.#claiming = null; });
    return this.#claiming;
  }

  /** Ask what there is now: an answer that is on its way already may be too old to tell. */
  async fetchAnew() {
    await this.#claiming;
    return this.fetch();
  }

  async #claim() {
    const claim = ++this.#claims;
    // What is done here and not sent is held by the server's count.
    const unsent = this.#outbox.acts.filter((act) => act.kind === "save").length;
    const count = Math.min(HELD, this.#wanted + 1 + unsent);
    // Only texts that are not here yet are sent.
    const here = [this.current, ...this.#next, ...this.#outbox.acts].filter((one) => one?.token);
    const have = here.map((one) => one.token).filter((token) => this.#known.has(token)).join(" ");
    const outlook = Date.now() - this.#counted > COUNT_ANEW ? "1" : "";
    const { status, body } = await this.#wire.post(this.#path, { count, have, outlook });
    if (status === 401 && body) this.#outbox.leave();
    if (status !== 200 || !body?.order) return false;
    this.#last = body.order.length < count;
    this.take(body.tasks, body.order, claim);
    this.dispatchEvent(new CustomEvent("guidelines", { detail: body.guidelines }));
    if (body.outlook) {
      this.#counted = Date.now();
      this.dispatchEvent(new CustomEvent("outlook", { detail: body.outlook }));
    }
    return true;
  }
}
