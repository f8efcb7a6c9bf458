// Mark the words of the query in a text, jump between the marks, and fold long texts.

import { gettext } from "./words.js";

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
// Stop words.
const COMMON = new Set("the and for are was were with from that this what who how why when where which does not you can".split(" "));

const folded = (word) => word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** [place, word] of each word; in scripts without blanks, by Intl.Segmenter. */
function* words(text) {
  for (const { 0: run, index } of text.matchAll(WORD)) {
    if (!UNSPACED.test(run) || !Intl.Segmenter) yield [index, run];
    else for (const { segment, index: at } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(run)) yield [index + at, segment];
  }
}

/** The words of a query that are marked. */
export function termsOf(query) {
  const all = [...words(query)].map(([, word]) => folded(word));
  return new Set(all.filter((word) => (word.length > 2 || /\p{N}/u.test(word) || UNSPACED.test(word)) && !COMMON.has(word)));
}

/** The nodes of a text with marks on the words of `terms`. */
export function marked(text, terms) {
  const nodes = [];
  let from = 0;
  for (const [at, word] of terms.size ? words(text) : []) {
    if (!terms.has(folded(word))) continue;
    const mark = document.createElement("mark");
    mark.textContent = word;
    nodes.push(text.slice(from, at), mark);
    from = at + word.length;
  }
  return [...nodes, text.slice(from)];
}

/** Mark the words of `terms` in all texts of a node. */
export function markIn(node, terms) {
  const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const all = [];
  while (texts.nextNode()) all.push(texts.currentNode);
  for (const text of all) {
    const nodes = marked(text.data, terms);
    if (nodes.length > 1) text.replaceWith(...nodes);
  }
}

/** The nodes of HTML that the server made, with marks on the words of `terms`. */
export function fragmentOf(html, terms = new Set()) {
  const made = document.createElement("template"); // in which nothing is loaded or run
  made.innerHTML = html;
  markIn(made.content, terms);
  return made.content;
}

/** Fold a .doc if its text is long, and show the buttons that apply. */
export function fold(doc, long) {
  doc.querySelector(".text").classList.toggle("folded", long);
  doc.querySelector(".full").hidden = !long;
  // Translators: a button: all of a long text.
  doc.querySelector(".full .what").textContent = gettext("Show all");
  const jump = doc.querySelector(".jump");
  jump.hidden = false;
  jump.classList.toggle("idle", !doc.querySelector("mark"));
}

/** Unfold a text, or fold it again. */
export function unfold(doc, open) {
  if (doc.querySelector(".full").hidden) return;
  const text = doc.querySelector(".text");
  text.classList.toggle("folded", open === undefined ? undefined : !open);
  doc.querySelector(".full .what").textContent = text.classList.contains("folded") ? gettext("Show all") : gettext("Show less");
}

/** Whether nothing of it is under the query or the bar. */
function inSight(mark) {
  const { top, bottom } = mark.getBoundingClientRect();
  const above = document.querySelector(".query").getBoundingClientRect().bottom;
  return top >= Math.max(above, 0) && bottom <= document.querySelector(".bar").getBoundingClientRect().top;
}

/** Go `step` marks on, cyclically. The page moves only for a mark that is out of sight. */
export function jump(doc, step) {
  const marks = [...doc.querySelectorAll("mark")];
  if (!marks.length) return;
  const now = marks.findIndex((mark) => mark.className === "here");
  if (now >= 0) marks[now].className = "";
  const next = marks[now < 0 && step < 0 ? marks.length - 1 : (now + step + marks.length) % marks.length];
  next.className = "here";
  const text = doc.querySelector(".text");
  if (text.contains(next) && next.getBoundingClientRect().bottom > text.getBoundingClientRect().bottom) unfold(doc, true);
  if (!inSight(next)) next.scrollIntoView({ block: "center" });
}
