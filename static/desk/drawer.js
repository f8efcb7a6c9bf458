// The guidelines beside the desk. A key opens them at a grade.

import { note } from "./state.js";
import { gettext } from "./words.js";

const guide = document.querySelector("#guidelines details");
const newer = document.getElementById("newer");
const NARROW = matchMedia("(max-width: 64rem)");

export class Drawer {
  #section = null;
  #before = null; // the focused element and the scroll position before they were opened
  #wire;
  #data;

  /** `data`: `guidelines`, the version on this page; `unread`, the version that is new to the person; `read`, the address to tell the server that they opened it. */
  constructor(wire, data) {
    this.#wire = wire;
    this.#data = data;
    if (NARROW.matches) guide.open = false;
    guide.querySelector("summary").addEventListener("click", () => { if (!guide.open) this.#read(); });
    document.addEventListener("keydown", (event) => {
      // Escape first closes dialogs and popovers, by the browser.
      if (event.key === "Escape" && !document.querySelector("dialog[open], :popover-open")) this.#close();
    });
  }

  /** Open them at the grade under the pointer or the focus, otherwise at the `last` one; close them if they are open there. */
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

  /** The server has a newer version: show a note. The page keeps its version. */
  latest(version) {
    if (!(version > this.#data.guidelines) || !newer.hidden) return;
    newer.hidden = false;
    note(gettext("The guidelines have changed."));
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
