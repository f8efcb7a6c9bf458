// The acts that undo can take back, the latest last, and the progress; used by both forms of the desk.

import { showLast, showProgress } from "./said.js";
import { note } from "./state.js";
import { uuid } from "./wire.js";
import { gettext } from "./words.js";

// Acts that undo can take back.
const BACK = 20;

/** Acts are {key, token, query, grade, reason, fresh}; fresh: the act raised the number of done ones. */
export class Past {
  // The token of the query that is shown.
  query = null;

  // Resolves when the last act is stored.
  written = null;

  constructor(outbox, { base, last, outlook }) {
    Object.assign(this, { outbox, base, acts: last, outlook });
  }

  get last() {
    return this.acts.at(-1);
  }

  /** How many tasks are left, so far as the server counts. */
  get left() {
    return Math.max(0, this.outlook.total - this.outlook.done);
  }

  find(key) {
    return this.acts.find((act) => act.key === key);
  }

  show() {
    showProgress(this.outlook, this.outlook.queries?.[this.query]);
    showLast(this.last);
  }

  /** Count a step of what is done, and of what is done of a query. */
  count(step, query) {
    const { done, queries } = this.outlook;
    const [answered, left] = queries?.[query] ?? [];
    const counted = answered === undefined ? queries : { ...queries, [query]: [answered + step, Math.max(0, left - step)] };
    this.outlook = { ...this.outlook, done: done + step, queries: counted };
  }

  /** Add an act of the outbox on a task of a query, with what the form needs at an undo. */
  add({ key, kind, token, fields: { grade = null, reason = "" } }, own, query, more) {
    const fresh = kind === "save" && !own;
    this.acts = [...this.acts, { key, token, query, grade, reason, fresh, ...more }].slice(-BACK);
    if (fresh) this.count(1, query);
  }

  drop(dropped) {
    this.acts = this.acts.filter((act) => act !== dropped);
  }

  /** An act that was insisted on becomes the latest one. */
  insisted(key) {
    const decided = this.find(key);
    this.drop(decided);
    if (decided) this.acts.push(decided);
    this.show();
  }

  /** Undo the last act: if it is not sent yet, delete it, otherwise send an undo with its key. Undefined: there is none. */
  async undo() {
    const { last, outbox, base } = this;
    if (!last) return note(gettext("There is nothing to undo."));
    // An act that is still being stored cannot be deleted yet.
    await this.written;
    this.drop(last);
    const here = await outbox.takeBack(last.key);
    const key = uuid();
    if (!here) await outbox.add({ key, kind: "undo", base, token: last.token ?? "", fields: last.key ? { act: last.key } : {} });
    if (last.fresh) this.count(-1, last.query);
    return { ...last, here, undo: key };
  }
}
