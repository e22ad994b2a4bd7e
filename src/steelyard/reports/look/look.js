// What the page of a look does: charts of alerts are drawn at once, that of any other series where it is opened.
import { byId, element } from "../html/elements.js";
import { lifetime, say } from "../html/shell.js";
import { extent } from "./computing.js";
import { changesList, draw, moment, nameOf, nCharts, numbers, seriesOf, stateOf, windowText } from "./chart.js";

const dialog = byId("chart");
const LISTED = 60;

// Draw a chart whose windows can be read, by the pointer and by the keyboard, in a line below it.
function readable(canvas, place) {
  const output = element("p", { class: "read", "aria-live": "polite" }, numbers(place).at.length ? say("read") : say("nothing"));
  canvas.after(output);
  let [chart, shown] = [draw(canvas, place), null];
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "group");
  canvas.setAttribute("aria-label", nameOf(place));
  const show = (i) => {
    if (!chart) return;
    shown = Math.min(Math.max(i, 0), chart.n - 1);
    chart.show(shown);
    output.textContent = windowText(place, shown);
  };
  canvas.addEventListener("pointermove", (event) => chart && show(chart.at(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !chart) return;
    event.preventDefault();
    event.stopPropagation();
    show((shown ?? chart.n) + step);
  });
  return () => {
    chart = draw(canvas, place);
    if (shown !== null) show(shown);
  };
}

// Of alerts ------------------------------------------------------------------------------------------------------

const drawings = [];
for (const figure of document.querySelectorAll("figure[data-chart-of]")) {
  const place = Number(figure.dataset.chartOf);
  drawings.push(readable(figure.querySelector(".canvas"), place));
  const list = changesList(place);
  if (list && !figure.nextElementSibling?.matches("figure")) figure.append(list);
}

// Of one series --------------------------------------------------------------------------------------------------

let redraw = () => {};

function open(place) {
  const canvas = element("div", { class: "canvas" });
  const go = (to) => element("button", { type: "button", class: "quiet", disabled: to < 0 || to >= nCharts, onclick: () => open(to) }, say(to < place ? "before" : "after"));
  const close = element("button", { type: "button", onclick: () => dialog.close() }, say("close"));
  const head = element("div", { class: "head" }, element("span", { class: "state" }, stateOf(place)), go(place - 1), go(place + 1), close);
  const segments = element("div", { class: "segments" });
  const body = element("div", { class: "body" }, element("h2", { id: "chart-title" }, nameOf(place)), canvas, changesList(place), note(place), segments, table(place));
  dialog.replaceChildren(head, body);
  if (!dialog.open) dialog.showModal();
  const again = [readable(canvas, place), beside(segments, place)];
  redraw = () => again.forEach((own) => own());
  dialog.scrollTop = 0;
  close.focus();
}

function note(place) {
  const { at, total } = numbers(place);
  return element("p", { class: "faint" }, say("legend") + (at.length < total ? say("thinned", { shown: at.length, total }) : ""));
}

// The segments of a series beside each other, on one scale.
function beside(box, place) {
  const places = Array.from({ length: nCharts }, (_, i) => i).filter((i) => seriesOf(i) === seriesOf(place)).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  if (places.length < 2) return () => {};
  const range = extent(places.flatMap((i) => ["value", "low", "high"].flatMap((row) => numbers(i)[row])));
  const items = places.map((i) => {
    const canvas = element("span", { class: "canvas" });
    const button = element("button", { type: "button", class: "segment", "aria-current": i === place ? "true" : null, onclick: () => open(i) }, element("span", {}, nameOf(i)), element("span", { class: "state" }, stateOf(i)), canvas);
    return { i, canvas, button };
  });
  box.append(element("h3", {}, say("segments")), element("div", { class: "beside" }, ...items.map(({ button }) => button)));
  const all = () => items.forEach(({ i, canvas }) => draw(canvas, i, { small: true, range }));
  all();
  return all;
}

// The newest windows in words, for readers that do not see the chart, and for others.
function table(place) {
  const { at } = numbers(place);
  const rows = Array.from({ length: Math.min(at.length, LISTED) }, (_, i) => at.length - 1 - i);
  const items = rows.map((i) => element("li", {}, windowText(place, i)));
  return element("details", {}, element("summary", {}, say("windows", { n: rows.length, last: at.length ? moment(at.at(-1)) : "–" })), element("ol", { class: "windows" }, ...items));
}

for (const button of document.querySelectorAll("[data-open]"))
  button.addEventListener("click", () => open(Number(button.dataset.open)));
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
let waiting = false;
addEventListener("resize", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const own of drawings) own();
    if (dialog.open) redraw();
  });
}, lifetime());
