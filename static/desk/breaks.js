// The offer of a break after many documents in a row. Any key closes it, and grades nothing.

const LONG = 25 * 60_000; // ms of work after which a break is offered
const REST = 5 * 60_000; // ms without an act that count as a break
const BOUNCE = 500; // ms during which a key counts as meant for the document below

// In sessionStorage, since the list is a new page for every query.
const KEPT = "idealist-break";
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
    // Without storage each page counts anew.
  }
  return row;
}

/** Count an act; show the card `after` so many in a row (0: never), and call `onclose` when it is closed.
 *
 *  Where there is nothing `more` to do, nobody needs a break: the card waits for the next act. */
export function worked(after, more, onclose) {
  const now = Date.now();
  let row = read();
  if (!row || now - row.last > REST) row = { count: 0, since: now };
  row = write({ ...row, count: row.count + 1, last: now });
  if (!after || (row.count < after && now - row.since < LONG) || card.open || !more) return;
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
