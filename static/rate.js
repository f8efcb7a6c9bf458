// The rating desk by keyboard. Without this file the same form works by mouse, touch and Tab.
"use strict";

const form = document.getElementById("rating");
const cannot = document.getElementById("cannot");
const comment = document.getElementById("comment");
const guide = document.querySelector("#guidelines details");
const narrow = matchMedia("(max-width: 64rem)");

let sent = false;
let visibleSince = performance.now();
let seconds = 0;

document.addEventListener("visibilitychange", () => {
  if (document.hidden) seconds += (performance.now() - visibleSince) / 1000;
  visibleSince = performance.now();
});

form.addEventListener("submit", (event) => {
  // A second press before the next document is there is the same press.
  if (sent) return event.preventDefault();
  sent = true;
  form.elements.seconds.value = (seconds + (performance.now() - visibleSince) / 1000).toFixed(2);
});

// Shown again by the back button, the page may be sent again: its key tells the server that it was seen before.
addEventListener("pageshow", () => { sent = false; });

function press(button) {
  if (!button) return;
  button.classList.add("lit");
  button.click();
}

// A closed sheet must not keep the focus: the next key is a grade, not a letter of the comment.
for (const sheet of [cannot, comment]) {
  sheet.addEventListener("beforetoggle", (event) => {
    if (event.newState === "closed") document.activeElement.blur();
  });
}

const isOpen = (sheet) => sheet.matches(":popover-open");

function digit(key) {
  const place = key === "0" ? 9 : Number(key) - 1;
  const buttons = isOpen(cannot) ? cannot.querySelectorAll("button") : form.querySelectorAll("button.grade");
  press(buttons[place]);
}

const keys = {
  x: () => cannot.togglePopover(),
  l: () => press(document.getElementById("later")),
  c: () => comment.showPopover(),
  u: () => press(document.querySelector("#undo button")),
  g: () => { guide.open = !guide.open; },
};

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select, [contenteditable]")) return;
  const act = /^[0-9]$/.test(event.key) ? () => digit(event.key) : keys[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
});

if (narrow.matches) guide.open = false;
