// The acts that the server has not confirmed, in order, in IndexedDB. Each account has a database of its own, so that
// the page of another account never opens it.

const STORE = "acts";
const PATIENCE = 3_000; // ms; some browsers never answer the request to open a database

/** The channel on which tabs of an account announce changes. */
export function tabsOf(account) {
  return new BroadcastChannel(`idealist-outbox-${account}`);
}

// No caller reads why a promise of these two is rejected.
function finished(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = request.oncomplete = () => resolve(request.result);
    request.onerror = request.onabort = reject;
  });
}

function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(reject, PATIENCE); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function opened(account) {
  const request = indexedDB.open(`idealist-outbox-${account}`, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "seq", autoIncrement: true });
  return finished(request);
}

/** Acts in IndexedDB and, if that fails, in memory. */
export class Store {
  #db = null;
  #opening; // a promise, once the database is opened again
  #loose = new Map();
  #next = 2 ** 40; // after whatever the database has numbered

  static async open(account) {
    const store = new Store();
    await store.#connect(account);
    return store;
  }

  async #connect(account) {
    try {
      const db = this.#db = await inTime(opened(account));
      // Do not block the upgrade by a newer page in another tab.
      db.onversionchange = () => { db.close(); this.#db = null; };
      // Safari closes databases of pages that were in the background.
      db.onclose = () => { this.#db = null; this.#opening = this.#connect(account); };
    } catch {
      // Then acts are kept in memory.
    }
  }

  /** Whether no act would be lost by closing the tab. */
  get lasting() {
    return this.#db !== null && !this.#loose.size;
  }

  /** Store a new act. Resolves to its number when it is written. */
  async add(act) {
    if (this.#opening) await this.#opening; // otherwise ask to write at once
    try {
      const transaction = this.#db.transaction(STORE, "readwrite");
      const request = transaction.objectStore(STORE).add(act);
      // Commit now and not when this page is idle, so that the act survives a crash of the page.
      transaction.commit();
      await inTime(finished(transaction));
      return request.result;
    } catch {
      this.#loose.set(act.seq = this.#next++, act);
      return act.seq;
    }
  }

  /** All acts, in order. Rejects if the browser does not answer. */
  async all() {
    await this.#opening;
    const kept = this.#db ? await inTime(finished(this.#db.transaction(STORE).objectStore(STORE).getAll())) : [];
    return [...kept, ...this.#loose.values()];
  }

  /** Replace an act by `change(act)`, where null deletes it and undefined leaves it. Atomic, also across tabs.
   *  Resolves to the stored act, or null if there is none. */
  async change(seq, change) {
    await this.#opening;
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
