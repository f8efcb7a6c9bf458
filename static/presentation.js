// Show the preview anew while the parts are being changed. Without this the button Preview does it.

const PAUSE = 400; // ms without a change

const form = document.getElementById("presentation");
const preview = document.getElementById("preview");
let waiting = 0;
let asked = 0;

async function renew() {
  const number = ++asked;
  const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" } });
  // While a part is half written there is nothing new to show, and an answer can be overtaken.
  if (!answer.ok || number !== asked) return;
  const made = document.createElement("template");
  made.innerHTML = (await answer.json()).html;
  preview.replaceChildren(made.content);
}

if (preview) {
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => renew().catch(() => {}), PAUSE);
  });
}
