// The guidelines beside the desk: one key opens them at the grade in question.

import { note } from "./state.js";

const guide = document.querySelector("#guidelines details");
const newer = document.getElementById("newer");
const NARROW = matchMedia("(max-width: 64rem)");

export class Drawer {
  #section = null;
  #before = null; // what had the focus, and how far the page was scrolled
  #wire;
  #data;

  /** `data`: `guidelines`, the version on this page, `unread`, the one that is new to the person, and `read`, where the server is told that they opened it. */
  constructor(wire, data) {
    this.#wire = wire;
    this.#data = data;
    if (NARROW.matches) guide.open = false;
    guide.querySelector("summary").addEventListener("click", () => { if (!guide.open) this.#read(); });
    document.addEventListener("keydown", (event) => {
      // What lies above is closed first, by the browser.
      if (event.key === "Escape" && !document.querySelector("dialog[open], :popover-open")) this.#close();
    });
  }

  /** Open them at the grade under the pointer or the focus, else at the one given last; a second time closes them. */
  toggle(last) {
    const value = document.querySelector("button.grade:is(:hover, :focus)")?.value ?? last;
    const section = value ? document.getElementById(`guide-grade-${value.replace("-", "minus-")}`) : null;
    if (guide.open && (!section || section === this.#section)) return this.#close();
    if (!guide.open || !this.#before) this.#before = [document.activeElement, scrollY];
    guide.open = true;
    this.#section?.classList.remove("now");
    this.#section = section;
    const goal = section ?? guide.querySelector("summary");
    section?.classList.add("now");
    if (section) section.tabIndex = -1;
    goal.scrollIntoView({ block: NARROW.matches ? "start" : "nearest" });
    goal.focus({ preventScroll: true });
    this.#read();
  }

  /** What the server says is the latest version. The page goes on with the one that is before the person. */
  latest(version) {
    if (!(version > this.#data.guidelines) || !newer.hidden) return;
    newer.hidden = false;
    note("The guidelines have changed.");
  }

  async #read() {
    const { unread, read } = this.#data;
    if (!unread) return;
    this.#data.unread = 0;
    const { status } = await this.#wire.post(read, { version: unread });
    if (status !== 204) this.#data.unread = unread;
  }

  #close() {
    if (!guide.open) return;
    guide.open = false;
    this.#section?.classList.remove("now");
    this.#section = null;
    if (!this.#before) return;
    const [focused, scrolled] = this.#before;
    this.#before = null;
    if (focused.isConnected) focused.focus({ preventScroll: true });
    if (NARROW.matches) scrollTo(0, scrolled);
  }
}
