// Acts that the server has not confirmed, in the order in which they were done. They lie in a database of the browser
// whose name carries the account, so that the page of another account never opens them.

const STORE = "acts";
const PATIENCE = 3_000; // ms; some browsers neither open a database nor refuse to

/** Where the pages of an account tell each other that something changed. */
export function tabsOf(account) {
  return new BroadcastChannel(`idealist-outbox-${account}`);
}

function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort = () => reject(request.error ?? new Error("aborted"));
  });
}

function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("late")), PATIENCE); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function opened(account) {
  const request = indexedDB.open(`idealist-outbox-${account}`, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "seq", autoIncrement: true });
  return finished(request);
}

/** What the browser keeps and, where it keeps nothing, what this page remembers. */
export class Store {
  #db = null;
  #loose = new Map();
  #next = 2 ** 40; // after whatever the database has numbered

  static async open(account) {
    const store = new Store();
    try {
      store.#db = await inTime(opened(account));
      // Another tab with a newer page may want to change the database: it must not wait for this one.
      store.#db.onversionchange = store.#db.onclose = () => { store.#db?.close(); store.#db = null; };
    } catch {
      store.#db = null;
    }
    return store;
  }

  /** Whether every act is safe from a closed tab. */
  get lasting() {
    return this.#db !== null && this.#loose.size === 0;
  }

  /** Keep a new act. Resolves when it is written. */
  async add(act) {
    try {
      const transaction = this.#db.transaction(STORE, "readwrite");
      const request = transaction.objectStore(STORE).add(act);
      // At once, and not when this page has time again: should it die before, the act is kept all the same.
      transaction.commit();
      await inTime(finished(transaction));
      return request.result;
    } catch {
      act.seq = this.#next++;
      this.#loose.set(act.seq, act);
      return act.seq;
    }
  }

  /** All acts, first done first. Rejects where the browser does not answer. */
  async all() {
    const loose = [...this.#loose.values()];
    if (!this.#db) return loose;
    const kept = await inTime(finished(this.#db.transaction(STORE).objectStore(STORE).getAll()));
    return [...kept, ...loose];
  }

  /** Replace an act by what `change` makes of it: null removes it, undefined leaves it. One step, also across tabs.
   *  Resolves to what is kept then; null when the act is gone. */
  async change(seq, change) {
    if (this.#loose.has(seq)) {
      const made = change(this.#loose.get(seq));
      if (made === null) this.#loose.delete(seq);
      else if (made !== undefined) this.#loose.set(seq, made);
      return this.#loose.get(seq) ?? null;
    }
    if (!this.#db) return null;
    const transaction = this.#db.transaction(STORE, "readwrite");
    const acts = transaction.objectStore(STORE);
    let kept = null;
    const request = acts.get(seq);
    request.onsuccess = () => {
      if (request.result === undefined) return;
      const made = change(request.result);
      kept = made === undefined ? request.result : made;
      if (made === null) acts.delete(seq);
      else if (made !== undefined) acts.put(made);
    };
    await inTime(finished(transaction));
    return kept;
  }
}
