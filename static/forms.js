// A form that writes is sent once: a second click would make a second collection. A refused form opens at its first
// error. Without a script a page is the same, only less careful.

const LONGEST = 30_000; // ms until a form can be sent again although no page came, as after the browser's stop button

// Buttons are not disabled: the browser would leave out the name and the value of the one that was pressed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.getAttribute("method") !== "post") return;
  if (form.ariaBusy === "true") return event.preventDefault();
  form.ariaBusy = "true";
  setTimeout(release, LONGEST, form);
});

function release(form) {
  form.ariaBusy = null;
}

// Back from the next page, the browser may show this one as it was left.
addEventListener("pageshow", () => document.querySelectorAll("form[aria-busy]").forEach(release));

/** The place of the first error: the field, so that a screen reader tells its error, or else the error itself. */
function firstError() {
  const error = document.querySelector("main :is(.errorlist, [aria-invalid=true], .note.warn[role=alert])");
  return error?.closest(".field")?.querySelector("input, select, textarea") ?? error;
}

function open(place) {
  for (let box = place.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "center" });
}

const place = firstError();
if (place) open(place);
