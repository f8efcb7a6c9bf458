// Shows the progress, the speed and the time left of a running import. Without a script the page has a link instead.

const running = document.getElementById("running");
const part = (name) => running.querySelector(`[data-${name}]`);
const bar = running.querySelector("progress");
let begun = null; // the first answer about the present step, and when it came

function timeLeft(now, seen) {
  if (!begun || begun.message !== seen.message || seen.done < begun.done) begun = { at: now, ...seen };
  const seconds = (now - begun.at) / 1000;
  if (seconds < 1 || seen.done === begun.done) return "";
  const rate = (seen.done - begun.done) / seconds;
  const speed = `${Math.round(rate).toLocaleString("en")} ${running.dataset.noun} a second`;
  const gained = (seen.share ?? 0) - (begun.share ?? 0);
  if (gained <= 0) return `${speed}.`;
  const left = Math.ceil(((1 - seen.share) / gained) * seconds);
  const time = left < 90 ? `${left} s` : `${Math.round(left / 60)} min`;
  return `${speed}, about ${time} left of this step.`;
}

async function look() {
  let wait = 1000;
  try {
    const answer = await fetch(running.dataset.progress, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    const seen = await answer.json();
    if (seen.state !== running.dataset.state) return location.reload();
    part("done").textContent = seen.done.toLocaleString("en");
    part("message").textContent = seen.message;
    if (seen.share === null) bar.removeAttribute("value");
    else bar.value = seen.share;
    part("left").textContent = seen.waits || timeLeft(performance.now(), seen);
  } catch {
    part("left").textContent = "The server does not answer. Trying again.";
    wait = 3000;
  }
  setTimeout(look, wait);
}

look();
