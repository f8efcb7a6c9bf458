// The acts that undo can take back, the latest last, and the progress; used by both forms of the desk.

import { showLast, showProgress } from "./said.js";
import { note } from "./state.js";
import { uuid } from "./wire.js";

// Acts that undo can take back.
const BACK = 20;

/** Acts are {key, token, grade, reason, fresh}; fresh: the act raised the number of done ones. */
export class Past {
  // Resolves when the last act is stored.
  written = null;

  constructor(outbox, { base, last, outlook }) {
    Object.assign(this, { outbox, base, acts: last, outlook });
  }

  get last() {
    return this.acts.at(-1);
  }

  find(key) {
    return this.acts.find((act) => act.key === key);
  }

  show() {
    showProgress(this.outlook);
    showLast(this.last);
  }

  count(step) {
    this.outlook = { ...this.outlook, done: this.outlook.done + step };
  }

  /** Add an act of the outbox, with what the form needs at an undo. */
  add({ key, kind, token, fields: { grade = null, reason = "" } }, own, more) {
    const fresh = kind === "save" && !own;
    this.acts = [...this.acts, { key, token, grade, reason, fresh, ...more }].slice(-BACK);
    if (fresh) this.count(1);
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
    if (!last) return note("There is nothing to undo.");
    // An act that is still being stored cannot be deleted yet.
    await this.written;
    this.drop(last);
    const here = await outbox.takeBack(last.key);
    const key = uuid();
    if (!here) await outbox.add({ key, kind: "undo", base, token: last.token ?? "", fields: last.key ? { act: last.key } : {} });
    if (last.fresh) this.count(-1);
    return { ...last, here, undo: key };
  }
}
