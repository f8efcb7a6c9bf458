// After many documents in a row: a word that a break does good. Any key goes on, and grades nothing.

const LONG = 25 * 60_000; // ms at work
const REST = 5 * 60_000; // ms without an act: that was a break
const BOUNCE = 500; // ms; a key pressed for the next document must not close what it hides

const KEPT = "idealist-break"; // a list is a new page for every query, and this goes on
const card = document.getElementById("break");

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return null;
  }
}

function write(row) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(row));
  } catch {
    // A browser that keeps nothing counts from each page anew.
  }
  return row;
}

/** Count an act of the person; `after` so many in a row the card is shown, 0: never. `onclose` when they go on. */
export function worked(after, onclose) {
  const now = Date.now();
  let row = read();
  if (!row || now - row.last > REST) row = { count: 0, since: now };
  row = write({ ...row, count: row.count + 1, last: now });
  if (!after || (row.count < after && now - row.since < LONG) || card.open) return;
  write(null);
  document.getElementById("break-count").textContent = row.count;
  card.addEventListener("close", onclose, { once: true });
  card.dataset.since = performance.now();
  card.showModal();
}

card.addEventListener("cancel", (event) => { if (event.cancelable && fresh()) event.preventDefault(); });
card.addEventListener("keydown", (event) => {
  const lone = !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey && event.key.length === 1;
  if (!lone) return;
  event.preventDefault();
  if (!fresh()) card.close();
});

const fresh = () => performance.now() - card.dataset.since < BOUNCE;
