// A picture in its large size, in a dialog. Without this script the link opens it in a tab.

const dialog = document.getElementById("zoom");
const large = new Image();
dialog.append(large);
let links = [];
let now = 0;

function show(step) {
  now = (now + step + links.length) % links.length;
  large.src = links[now].href;
  large.alt = links[now].firstElementChild.alt;
}

/** Show the picture of a link, or the first one of a document. */
export function zoom(doc, link) {
  links = [...doc?.querySelectorAll("a.picture") ?? []];
  if (!links.length) return;
  now = Math.max(0, links.indexOf(link));
  show(0);
  dialog.showModal();
}

/** Zoom for a click on a picture; true for one on another link of the text. */
export function opens(event, doc) {
  const link = event.target.closest(".text a[href]");
  if (!link?.matches(".picture")) return Boolean(link);
  if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    zoom(doc, link);
  }
  return false;
}

dialog.addEventListener("click", () => dialog.close());
dialog.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) show(step);
  else if (event.key === "z") dialog.close();
  else return;
  event.preventDefault();
});
