// Requests to the server. Answers of the application are told from silence and from those of proxies in between.

import { gettext } from "./words.js";

const PATIENCE = 20_000; // ms until a request counts as failed

/** A random UUID. crypto.randomUUID is missing on pages without TLS. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

async function ask(path, options) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE);
  try {
    const response = await fetch(path, {
      ...options,
      headers: { Accept: "application/json", ...options.headers },
      credentials: "same-origin",
      redirect: "manual",
      cache: "no-store",
      signal: stop.signal,
    });
    const ours = response.headers.get("Content-Type")?.startsWith("application/json");
    const body = ours ? await response.json() : null;
    return { status: response.status, type: response.type, body, wait: Number(response.headers.get("Retry-After")) || 0 };
  } catch {
    return { status: 0, type: "error", body: null, wait: 0 };
  } finally {
    clearTimeout(timer);
  }
}

/** Requests in the name of one account. */
export class Wire {
  constructor({ account, session, signIn, csrf }) {
    Object.assign(this, { account, session, signIn, csrf });
  }

  /** {status, body, wait}: body is null unless the answer is this application's, status 0 means no answer. */
  async post(path, fields) {
    const first = await this.#send(path, fields);
    if (first.status !== 403) return first;
    // A sign-in in another tab invalidates the CSRF token of this page.
    const { account } = await this.look();
    if (account === undefined) return { ...first, status: 0, body: null };
    if (account === this.account) return this.#send(path, fields);
    return { ...first, status: 401, body: {} };
  }

  #send(path, fields) {
    const body = new URLSearchParams({ ...fields, account: this.account });
    // keepalive lets the request outlive the page, but browsers limit it to 64 KB in all.
    const keepalive = String(body).length < 16_000;
    return ask(path, { method: "POST", body, keepalive, headers: { "X-CSRFToken": this.csrf } });
  }

  /** Who is signed in: {account, name}; account is null for nobody, undefined without an answer. */
  async look() {
    const { status, body } = await ask(this.session, {});
    if (status !== 200 || !body) return {};
    // Do not take the token of another account: this page must not act in its name.
    if (body.account === null || body.account === this.account) this.csrf = body.csrf;
    return body;
  }

  /** Sign in. True, or a sentence that says why not. */
  async enter(username, password) {
    const { account, csrf } = await this.look();
    const silence = gettext("The server does not answer. Nothing is lost: try again in a moment.");
    if (account === undefined) return silence;
    const body = new URLSearchParams({ username, password });
    const answer = await ask(this.signIn, { method: "POST", body, headers: { "X-CSRFToken": csrf } });
    if (answer.type === "opaqueredirect") return true;
    if (answer.status === 429) return gettext("Too many tries. Wait a minute and try again.");
    if (answer.status === 200) return gettext("This name and password do not fit. Mind capital letters.");
    return answer.body?.error ?? silence;
  }
}
