// Copies a picture or a link, and prints. Without a script the picture is a file, the link is marked by hand, and the
// browser's own menu prints.
"use strict";
(() => {
  const COPIED = 2000; // ms for which a button says what it did

  /** Shows the buttons with this attribute; a click calls act(value of the attribute), and the button says whether it worked. */
  function offer(attribute, act, done = "Copied") {
    for (const button of document.querySelectorAll(`button[${attribute}]`)) {
      const name = button.textContent;
      button.hidden = false;
      button.setAttribute("aria-live", "polite");
      button.addEventListener("click", async () => {
        try {
          await act(button.getAttribute(attribute));
          if (done) button.textContent = done;
        } catch {
          button.textContent = "Not copied";
        }
        setTimeout(() => (button.textContent = name), COPIED);
      });
    }
  }

  async function fetched(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.blob();
  }

  // Browsers have a clipboard only where pages come by TLS or from this machine.
  if (navigator.clipboard?.write && window.ClipboardItem) {
    // The promise itself: Safari refuses what comes after a wait.
    offer("data-copies-picture", (address) =>
      navigator.clipboard.write([new ClipboardItem({ "image/png": fetched(address) })]));
    offer("data-copies", (text) => navigator.clipboard.writeText(text));
  }
  offer("data-prints", () => print(), "");
})();
