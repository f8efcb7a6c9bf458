// The dialogs that need a decision: sign in again, and which of two ratings to keep.

import { isText, latin } from "./keys.js";
import { said } from "./said.js";
import { filled, gettext, ngettext } from "./words.js";

const BOUNCE = 500; // ms during which a key counts as meant for the document below

/** Whether a rating that was refused is the stored one, with the same comment. */
function isStored({ current }, { grade = null, reason = "", comment }) {
  return current?.grade === grade && current.reason === reason && current.comment === comment.trim();
}

const at = (id) => document.getElementById(id);

/** The nodes of a text with those of a rating in place of its %(rating)s. */
function around(text, nodes) {
  const [before, after = ""] = text.split("%(rating)s");
  return [before, ...nodes, after];
}

/** The nodes of the button that keeps the stored rating, null for none. */
function keeping(stored) {
  if (!stored) return [gettext("Keep what is stored: no rating")];
  // Translators: a button; %(rating)s is a grade, or “cannot judge” with its reason.
  return around(gettext("Keep what is stored: %(rating)s"), said(stored));
}

/** Whether somebody is writing. Then `later` is called once they leave the field: a dialog would take what they type. */
function isWriting(later) {
  const field = document.activeElement;
  if (isText(field)) field.addEventListener("blur", () => setTimeout(later), { once: true });
  return isText(field);
}

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
    // Back from another tab: the person may have signed in there, or somebody else, who must not rate in their name.
    addEventListener("focus", () => this.#look());
    at("sealed").addEventListener("close", () => at("sealed").showModal()); // Escape closes any dialog
  }

  async ask() {
    if (this.#dialog.open || isWriting(() => this.ask())) return;
    const { waiting } = this.#outbox.state();
    // Translators: %(n)s ratings and other acts.
    const kept = ngettext("What you did is kept here: %(n)s to be sent.", "What you did is kept here: %(n)s to be sent.", waiting);
    at("sign-in-kept").textContent = waiting ? filled(kept, { n: waiting }) : "";
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
    for (const part of document.querySelectorAll("#main > :not(dialog)")) part.hidden = true;
    at("sealed-name").textContent = name;
    if (!at("sealed").open) at("sealed").showModal();
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
      const choice = ["1", "2"].indexOf(latin(event)) + 1;
      if (event.repeat || !choice) return;
      event.preventDefault();
      this.#choose(choice);
    });
  }

  ask() {
    if (this.#dialog.open || isWriting(() => this.ask())) return;
    this.#act = this.#outbox.acts.find((act) => act.refused);
    if (!this.#act) return;
    const { refused, fields, token } = this.#act;
    const two = refused.status === 409;
    if (two && isStored(refused, fields)) return this.#decide(false, false);
    at("conflict-title").textContent = this.#desk.titleOf(token);
    at("conflict-why").textContent = refused.error;
    // Translators: “Judge it again” and “Throw it away” are the buttons for a rating that the server refused; “Keep what
    // is stored” and “Take this one” those for two ratings of the same document.
    at("conflict-1-said").replaceChildren(...(two ? keeping(refused.current) : [gettext("Judge it again")]));
    at("conflict-2-said").replaceChildren(...(two ? around(gettext("Take this one: %(rating)s"), said(fields)) : [gettext("Throw it away")]));
    at("conflict-1").hidden = refused.status === 404;
    this.#since = performance.now();
    this.#dialog.showModal();
    return at("conflict-why").focus();
  }

  #choose(place) {
    if (performance.now() - this.#since < BOUNCE || at(`conflict-${place}`).hidden) return;
    const two = this.#act.refused.status === 409;
    this.#dialog.close();
    this.#decide(two && place === 2, !two && place === 1);
  }

  async #decide(insists, again) {
    const act = this.#act;
    const done = insists ? this.#outbox.insist(act) : this.#outbox.drop(act);
    // Before the await: the next key may be an undo, which must find the decision.
    if (insists) this.#desk.insisted(act);
    else this.#desk.dropped(act, again, done);
    await done;
    // Nobody need decide about each act in a collection that is closed to them.
    const alike = (kept) => act.refused.closed && kept.refused?.closed && kept.base === act.base;
    for (const other of this.#outbox.acts.filter(alike)) await this.#outbox.drop(other);
    this.ask();
  }
}
