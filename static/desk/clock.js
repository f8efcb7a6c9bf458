// How long a person looked at a document, whatever the clock of the machine says.

const IDLE = 60_000; // ms without a sign of life: what follows is no reading
const LONGEST = 600; // s; more says nothing about effort

/** Counts while the page is seen and somebody is there. */
export class Clock {
  #seen = 0;
  #since = performance.now();

  constructor() {
    const sign = () => this.#add();
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]) {
      addEventListener(name, sign, { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      // Until now it was seen, or from now on it is.
      if (document.hidden) this.#add();
      this.#since = performance.now();
    });
  }

  #add() {
    const now = performance.now();
    this.#seen += Math.min(now - this.#since, IDLE);
    this.#since = now;
  }

  restart() {
    this.#seen = 0;
    this.#since = performance.now();
  }

  get seconds() {
    this.#add();
    return Math.min(this.#seen / 1_000, LONGEST);
  }
}
