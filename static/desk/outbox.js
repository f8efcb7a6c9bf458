// Sends acts in order, each with its idempotency key, until the server has confirmed it.

import { tabsOf } from "./store.js";

const LONGEST = 60_000; // ms between two tries
const SETTLED = new Set([400, 404, 409]); // answers that another try would not change

/** Stores and sends acts. Its events: "change", when `state()` changed; "revision" {token, revision},
 *  from which further acts are made; "confirmed" {act, answer}; "refused" {act}, when the person must decide about
 *  `act.refused`, the answer of the server; "signed-out". */
export class Outbox extends EventTarget {
  #store;
  #wire;
  #acts = [];
  #storing = new Set(); // promises of the acts that are being stored
  #tries = 0;
  #nextTry = null; // ms, by the clock of Date
  // "", or what does not answer: "offline", "server" or "browser"
  #problem = "";
  #told = ""; // the error message of the server
  #signedOut = false;
  #tabs;
  #draining = null;
  #again = false;
  #timer = 0;

  constructor(store, wire) {
    super();
    this.#store = store;
    this.#wire = wire;
    this.#tabs = tabsOf(wire.account);
    this.#tabs.onmessage = ({ data }) => this.#hear(data);
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => { if (!document.hidden && this.#problem) this.retry(); });
  }

  /** The acts that are not confirmed, in order. */
  get acts() {
    return this.#acts;
  }

  state() {
    const needs = this.#acts.filter((act) => act.refused).length;
    return {
      waiting: this.#acts.length + this.#storing.size - needs,
      needs,
      problem: this.#problem,
      told: this.#told,
      nextTry: this.#nextTry,
      signedOut: this.#signedOut,
      lasting: this.#store.lasting,
    };
  }

  /** Whether the page should warn before it is closed: not for an act that is being sent for the first time. */
  get worries() {
    const { needs, problem, signedOut, lasting } = this.state();
    const slow = this.#acts.some((act) => Date.now() - act.at > 2_000);
    return this.#acts.length > 0 && (needs > 0 || problem !== "" || signedOut || !lasting || slow);
  }

  /** Read the acts that earlier pages left, and send them. */
  async begin() {
    await this.#look();
    // Send refused acts once more: the reason may be gone.
    for (const { seq } of this.#acts.filter((act) => act.refused)) {
      await this.#store.change(seq, ({ refused, ...act }) => act);
    }
    this.drain();
  }

  /** Store a new act and send it. Resolves when it is stored. */
  async add(act) {
    act.at = Date.now();
    const stored = this.#store.add(act).then((seq) => {
      if (!this.#acts.some((kept) => kept.seq === seq)) this.#acts.push({ ...act, seq });
    });
    this.#storing.add(stored);
    this.#emit("change"); // from now on not all is saved
    await stored.finally(() => this.#storing.delete(stored));
    this.#changed();
    if (!this.#nextTry) this.drain();
  }

  /** Delete an act that was not sent. False: it was sent, and the server must undo it. */
  async takeBack(key) {
    const act = this.#acts.find((kept) => kept.key === key);
    if (!act) return false;
    let taken = false;
    await this.#store.change(act.seq, (kept) => {
      taken = !kept.sent || kept.refused !== undefined;
      return taken ? null : undefined;
    });
    if (taken) this.#forget(act.seq);
    return taken;
  }

  /** Delete a refused act. */
  async drop(act) {
    await this.#store.change(act.seq, () => null);
    this.#forget(act.seq);
    this.drain();
  }

  /** Send a refused act again, based on the revision of the server. It keeps its key, which undo refers to. */
  async insist(act) {
    // Without `refused`, another tab has decided already.
    await this.#store.change(act.seq, ({ refused, ...kept }) => {
      return refused && { ...kept, fields: { ...kept.fields, base_revision: refused.revision } };
    });
    await this.#look();
    this.drain();
  }

  /** The server answered that nobody or somebody else is signed in. */
  leave() {
    this.#signedOut = true;
    this.#problem = "";
    this.#changed();
    this.#emit("signed-out");
  }

  /** The account of this page is signed in again. */
  signedIn() {
    this.#signedOut = false;
    this.retry();
  }

  /** Send now, without waiting for the next try. */
  retry() {
    this.#tries = 0;
    this.drain();
  }

  /** Send all acts in order, one tab at a time. Resolves when nothing can be sent for now. */
  drain() {
    this.#again = true;
    this.#draining ??= this.#run();
    return this.#draining;
  }

  async #run() {
    clearTimeout(this.#timer);
    try {
      do {
        this.#again = false;
        // Web Locks need TLS. Without them two tabs may send the same act, which its key makes one.
        if (navigator.locks) await navigator.locks.request(`idealist-outbox-${this.#wire.account}`, () => this.#sendAll());
        else await this.#sendAll();
      } while (this.#again && !this.#nextTry && !this.#signedOut);
    } catch {
      this.#postpone("browser", 0);
    } finally {
      this.#draining = null;
    }
  }

  async #sendAll() {
    this.#nextTry = null;
    await this.#look();
    for (let act = this.#due(); act && !this.#signedOut; act = this.#due()) {
      const marked = await this.#store.change(act.seq, (kept) => (kept.sent ? undefined : { ...kept, sent: true }));
      if (!marked) {
        this.#forget(act.seq); // deleted by an undo, or sent by another tab
        continue;
      }
      act.sent = true;
      const { kind, base, token, key, fields } = marked;
      const path = kind === "undo" ? `${base}undo/` : `${base}${token}/${kind}/`;
      const answer = await this.#wire.post(path, { ...fields, client_key: key });
      if (!(await this.#settle(marked, answer))) return;
    }
  }

  /** The first act that may be sent: not one whose document has an earlier refused act. */
  #due() {
    const stuck = new Set();
    for (const act of this.#acts) {
      if (act.refused) stuck.add(act.token);
      else if (!stuck.has(act.token)) return act;
    }
    return undefined;
  }

  /** Handle an answer. True: go on with the next act. */
  async #settle(act, { status, body, wait }) {
    if (status === 200 && body?.key === act.key) {
      await this.#confirmed(act, body);
      return true;
    }
    if (status === 401 && body) {
      this.leave();
      return false;
    }
    if (SETTLED.has(status) && body) {
      const refused = await this.#store.change(act.seq, (kept) => ({ ...kept, refused: { status, ...body } }));
      await this.#look();
      this.#emit("refused", { act: refused ?? act });
      return true;
    }
    this.#postpone(status === 0 ? "offline" : "server", wait, body?.error);
    return false;
  }

  async #confirmed(act, answer) {
    this.#tries = 0;
    this.#problem = "";
    // From now on pages make acts from this revision. Those that were made and stored meanwhile get it below.
    if (answer.revision !== undefined) this.#emit("revision", { token: answer.task?.token ?? act.token, revision: answer.revision });
    await Promise.allSettled(this.#storing);
    // Before the deletion: if the browser crashes in between, the act is sent and confirmed again.
    for (const later of this.#acts.filter((kept) => kept.token === act.token && kept.seq > act.seq)) {
      if (answer.revision === undefined || !("base_revision" in later.fields)) continue;
      const made = (kept) => ({ ...kept, fields: { ...kept.fields, base_revision: answer.revision } });
      Object.assign(later, await this.#store.change(later.seq, made));
    }
    await this.#store.change(act.seq, () => null);
    this.#forget(act.seq);
    this.#emit("confirmed", { act, answer });
    this.#tell({ confirmed: { act, answer } });
  }

  #postpone(problem, wait, told = "") {
    this.#problem = problem;
    this.#told = told;
    const pause = Math.min(LONGEST, 1_000 * 2 ** this.#tries++) * (0.75 + Math.random() / 2);
    const delay = Math.min(LONGEST, Math.max(pause, wait * 1_000));
    this.#nextTry = Date.now() + delay;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.drain(), delay);
    this.#changed();
  }

  /** A message of another tab, which sends for both; if it is closed, this one goes on. */
  async #hear({ problem, told, nextTry, confirmed }) {
    this.#problem = problem;
    this.#told = told;
    this.#nextTry = nextTry;
    clearTimeout(this.#timer);
    if (nextTry) this.#timer = setTimeout(() => this.drain(), nextTry - Date.now() + 1_000);
    await this.#look();
    if (confirmed) this.#emit("confirmed", confirmed);
  }

  #tell(more) {
    this.#tabs.postMessage({ problem: this.#problem, told: this.#told, nextTry: this.#nextTry, ...more });
  }

  async #look() {
    this.#acts = await this.#store.all();
    this.#emit("change");
  }

  #forget(seq) {
    this.#acts = this.#acts.filter((act) => act.seq !== seq);
    this.#changed();
  }

  /** Announce a change to this page and to other tabs. */
  #changed() {
    this.#emit("change");
    this.#tell();
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
