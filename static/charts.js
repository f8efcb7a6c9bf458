// Draws the page's charts. Each .chart[data-spec] names the JSON block that holds its Vega-Lite document.
"use strict";
(() => {
  const places = [...document.querySelectorAll(".chart[data-spec]")];
  if (!places.length || !window.vegaEmbed) return;
  const drawn = new Map();

  // light-dark() in a custom property is only resolved where it is used, so a probe uses it.
  function colours() {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.forcedColorAdjust = "none"; // else each colour is that of the text where the system forces colours
    const known = new Map();
    const colour = (name) => {
      if (!known.has(name)) {
        probe.style.color = `var(${name})`;
        known.set(name, getComputedStyle(probe).color);
      }
      return known.get(name);
    };
    return { colour, done: () => probe.remove() };
  }

  // Properties that hold colours, and properties that hold names from the record.
  const PAINTS = ["background", "color", "fill", "gridColor", "labelColor", "range", "stroke", "titleColor"];
  const DATA = ["datasets", "domain"];

  // A copy of a document in which each "var(--name)" is the present colour, in properties that hold colours.
  function resolved(part, colour, paints = false) {
    if (typeof part === "string") {
      const name = /^var\((--[\w-]+)\)$/.exec(part);
      return name && paints ? colour(name[1]) : part;
    }
    if (Array.isArray(part)) return part.map((item) => resolved(item, colour, paints));
    if (part && typeof part === "object") {
      const entry = ([key, value]) =>
        [key, DATA.includes(key) ? value : resolved(value, colour, paints || PAINTS.includes(key))];
      return Object.fromEntries(Object.entries(part).map(entry));
    }
    return part;
  }

  function look(width) {
    const { fontFamily } = getComputedStyle(document.body);
    // A long name is cut in the middle, because variants of a system differ at the end.
    const limit = Math.max(90, Math.min(220, width * 0.34));
    const most = Math.floor(limit / 8);
    const head = Math.floor(most / 3);
    const short = `slice(datum.label, 0, ${head}) + '…' + slice(datum.label, ${head + 1 - most})`;
    return {
      background: null,
      mark: { aria: false }, // the label of the place says what is drawn, and a table has the numbers
      font: fontFamily,
      view: { stroke: null },
      padding: { left: 1, top: 8, right: 8, bottom: 4 },
      axis: {
        domain: false, ticks: false, labelPadding: 8, labelFontSize: 13, titleFontSize: 13, titleFontWeight: "normal",
        labelColor: "var(--soft)", titleColor: "var(--soft)", gridColor: "var(--line)", tickCount: 5,
      },
      axisY: { labelLimit: limit, labelExpr: `length(datum.label) > ${most} ? ${short} : datum.label` },
      text: { fontSize: 13, color: "var(--ink)" },
      rule: { strokeCap: "butt" },
    };
  }

  async function draw(place) {
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    const { colour, done } = colours();
    const width = place.clientWidth;
    const inner = document.createElement("div");
    // A chart whose cells would get too narrow keeps its width and scrolls.
    inner.style.minWidth = place.dataset.least ? `${place.dataset.least}px` : "";
    const options = {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: { disableDefaultStyle: true }, loader: { target: "_self" },
      config: resolved(look(width), colour),
    };
    const whole = resolved(spec, colour);
    done();
    place.replaceChildren(inner);
    const result = await window.vegaEmbed(inner, whole, options);
    drawn.get(place)?.finalize();
    drawn.set(place, result);
  }

  // One after the other, so that the first chart shows early. A place in a closed section has no width yet.
  async function drawAll(wanted = places) {
    for (const place of wanted) if (place.clientWidth) await draw(place).catch((error) => console.error(error));
  }

  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  // A toggle does not bubble.
  document.addEventListener("toggle", ({ target }) => drawAll(places.filter((place) => target.contains(place))), true);
})();
