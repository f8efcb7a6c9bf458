// How long a person looked at a document, by the monotonic clock.

const IDLE = 60_000; // ms without input after which the time does not count
const LONGEST = 600; // s, the longest time that is sent

/** Counts while the page is visible and there is input. */
export class Clock {
  #seen = 0;
  #since = performance.now();

  constructor() {
    const sign = () => this.#add();
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]) {
      addEventListener(name, sign, { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
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
