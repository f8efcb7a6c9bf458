// The keys on the page of a pair to decide: those of grades choose one, Enter saves, n and p go to other pairs.
import { listen } from "./desk/keys.js";

const data = JSON.parse(document.getElementById("adjudicate-data").textContent);
const follow = (rel) => document.querySelector(`a[rel=${rel}]`)?.click();
const form = document.getElementById("decide");

listen({
  grade(place) {
    const choice = form?.elements.grade[place];
    if (!choice) return;
    choice.checked = true;
    choice.focus(); // so that Enter sends the form
  },
  keep: () => form?.requestSubmit(),
  next: () => follow("next"),
  previous: () => follow("prev"),
  digit: () => false,
}, data);
