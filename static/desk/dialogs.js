// The dialogs that need a decision: sign in again, and which of two ratings to keep.

import { said } from "./said.js";

const BOUNCE = 500; // ms during which a key counts as meant for the document below

const at = (id) => document.getElementById(id);

/** The dialog to sign in again. The page stays as it is, and the outbox goes on afterwards. */
export class SignIn {
  #dialog = at("sign-in");
  #wire;
  #outbox;

  constructor(wire, outbox) {
    this.#wire = wire;
    this.#outbox = outbox;
    const form = this.#dialog.querySelector("form");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#enter(form);
    });
    at("sign-in-close").addEventListener("click", () => this.#dialog.close());
    outbox.addEventListener("signed-out", () => this.ask());
    // Back from the tab in which the person signed in.
    addEventListener("focus", () => { if (this.#dialog.open) this.#look(); });
  }

  async ask() {
    if (this.#dialog.open) return;
    const { waiting } = this.#outbox.state();
    at("sign-in-kept").textContent = waiting ? `What you did is kept here: ${waiting} to be sent.` : "";
    at("sign-in-wrong").hidden = true;
    if (at("sign-in-further")) at("sign-in-further").hidden = true;
    // The person may have signed in in another tab.
    if (!(await this.#look()) && !this.#dialog.open) this.#dialog.showModal();
  }

  /** The account that is signed in: null for none, undefined without an answer. With that of this page the work goes on. */
  async #look() {
    const { account, name } = await this.#wire.look();
    if (account === this.#wire.account) {
      this.#dialog.close();
      this.#outbox.signedIn();
    } else if (account) this.#seal(name);
    return account;
  }

  async #enter(form) {
    const button = form.querySelector("button.main");
    button.disabled = true;
    const { username, password } = form.elements;
    const entered = await this.#wire.enter(username.value, password.value);
    button.disabled = false;
    password.value = "";
    if (entered !== true) {
      at("sign-in-wrong").textContent = entered;
      at("sign-in-wrong").hidden = false;
      password.focus();
      return;
    }
    at("sign-in-wrong").hidden = true;
    const isFurther = (await this.#look()) === null; // the password was right, and nobody is signed in yet
    at("sign-in-further").hidden = !isFurther;
    if (isFurther) at("sign-in-further").querySelector("a").focus();
  }

  /** Another account is signed in: close the page and its stored acts to them. */
  #seal(name) {
    this.#dialog.close();
    at("sealed-name").textContent = name;
    at("sealed").showModal();
  }
}

/** The dialog for acts that the server refused, one after the other. */
export class Decision {
  #dialog = at("conflict");
  #outbox;
  #desk;
  #act = null;
  #since = 0;

  /** `desk` has titleOf(token), and is called with each decision: insisted(act), or dropped(act, again, gone), where
   *  `again` shows the document once more and the promise `gone` resolves when the act is deleted. */
  constructor(outbox, desk) {
    this.#outbox = outbox;
    this.#desk = desk;
    outbox.addEventListener("refused", () => this.ask());
    at("conflict-1").addEventListener("click", () => this.#choose(1));
    at("conflict-2").addEventListener("click", () => this.#choose(2));
    this.#dialog.addEventListener("keydown", (event) => {
      if (event.repeat || !["1", "2"].includes(event.key)) return;
      event.preventDefault();
      this.#choose(Number(event.key));
    });
  }

  ask() {
    if (this.#dialog.open) return;
    this.#act = this.#outbox.acts.find((act) => act.refused);
    if (!this.#act) return;
    const { refused, fields, token } = this.#act;
    const two = refused.status === 409;
    at("conflict-title").textContent = this.#desk.titleOf(token);
    at("conflict-why").textContent = two ? "You rated this document in another window as well. Which rating stands?" : refused.error;
    const stored = refused.current ? said(refused.current) : ["no rating"];
    at("conflict-1-said").replaceChildren(...(two ? ["Keep what is stored: ", ...stored] : ["Judge it again"]));
    at("conflict-2-said").replaceChildren(...(two ? ["Take this one: ", ...said(fields)] : ["Throw it away"]));
    at("conflict-1").hidden = refused.status === 404;
    this.#since = performance.now();
    this.#dialog.showModal();
    at("conflict-why").focus();
  }

  async #choose(place) {
    if (performance.now() - this.#since < BOUNCE || at(`conflict-${place}`).hidden) return;
    const act = this.#act;
    const insists = act.refused.status === 409 && place === 2;
    this.#dialog.close();
    const done = insists ? this.#outbox.insist(act) : this.#outbox.drop(act);
    // Before the await: the next key may be an undo, which must find the decision.
    if (insists) this.#desk.insisted(act);
    else this.#desk.dropped(act, act.refused.status !== 409 && place === 1, done);
    await done;
    this.ask();
  }
}
