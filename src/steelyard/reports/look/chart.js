// A control chart: values between their limits, what is expected, the sums below, change points, and what else changed.
import { element } from "../html/elements.js";
import { held, say } from "../html/shell.js";
import { amount, band, decoded, extent, labels, letter, line, nearest, scale, ticks } from "./computing.js";

const data = held("control-charts");
const texts = held("control-texts");
export const nCharts = data.charts.length;
export const seriesOf = (place) => texts.series[place];
export const nameOf = (place) => texts.names[place];
export const stateOf = (place) => texts.states[place];
const charts = new Map();

// The numbers of a chart.
export function numbers(place) {
  if (!charts.has(place)) charts.set(place, decoded(data.charts[place], data.times, data.steps));
  return charts.get(place);
}

const format = (() => {
  const style = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  try {
    return new Intl.DateTimeFormat("sv-SE", { ...style, timeZone: data.timezone });
  } catch {
    return new Intl.DateTimeFormat("sv-SE", { ...style, timeZone: "UTC" });
  }
})();
// A time in the zone of the monitor; its day alone where it begins there.
export const moment = (seconds) => format.format(seconds * 1000).replace(" 00:00", "");

const NS = "http://www.w3.org/2000/svg";
function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const label = (x, y, text, more = {}) => drawn("text", { x, y, "font-size": 11, fill: "var(--muted)", ...more }, text);
const rule = (x1, y1, x2, y2, stroke, more = {}) => drawn("line", { x1, y1, x2, y2, stroke, ...more });

const LEFT = 48;
const RIGHT = 10;
const LETTERS = 16;
const SUMS = 64;
const AXIS = 20;
const MOST_LIMITS = 4;

// Draw the chart of a place into a box: `small` without sums; `range` where several share their scale.
export function draw(box, place, { small = false, range = null } = {}) {
  const own = numbers(place);
  const width = Math.max(box.clientWidth, 240);
  const height = small ? 90 : 210;
  const sums = !small && own.limit !== null;
  const total = height + LETTERS + AXIS + (sums ? SUMS + 14 : 0);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${total}`, width, height: total, role: "img", "aria-label": described(place) });
  box.replaceChildren(svg);
  if (!own.at.length) return null;
  const x = scale(extent(own.at), LEFT, width - RIGHT);
  const xs = own.at.map(x);
  const ends = range ?? extent([...own.value, ...own.low, ...own.high]);
  const y = scale(ends, LETTERS + height - 4, LETTERS + 4);
  const ys = (row) => row.map((value) => (value === null ? null : y(value)));
  const bottom = LETTERS + height;
  svg.append(...changesOf(own, x, width, bottom, small));
  for (const tick of ticks(ends, small ? 2 : 4))
    svg.append(rule(LEFT, y(tick), width - RIGHT, y(tick), "var(--rule)"), label(LEFT - 6, y(tick) + 4, amount(tick), { "text-anchor": "end" }));
  svg.append(
    drawn("path", { d: band(xs, ys(own.low), ys(own.high), [bottom, LETTERS]), fill: "var(--tint)", "fill-opacity": 0.6 }),
    drawn("path", { d: line(xs, ys(own.expected)), fill: "none", stroke: "var(--muted)", "stroke-dasharray": "4 3" }),
    drawn("path", { d: line(xs, ys(own.value)), fill: "none", stroke: "var(--accent)", "stroke-width": 1.6 }),
    ...alarmsOf(own, xs, ys(own.value)),
    ...shiftsOf(own, x, bottom),
  );
  if (sums) svg.append(...sumsOf(own, xs, bottom + 14, width));
  svg.append(...timesOf(own, x, total - 5, width));
  return pointer(svg, own, xs, total - AXIS);
}

const described = (place) => say("chart", { name: nameOf(place), state: stateOf(place) });

// Bands of what lasts, lines of moments, and their letters.
function changesOf(own, x, width, bottom, small) {
  const [first, last] = extent(own.at);
  const there = data.changes.map((change) => (change.until ?? change.time) >= first && change.time <= last);
  const at = (seconds) => Math.min(Math.max(x(seconds), LEFT), width - RIGHT);
  const parts = data.changes.filter((_, i) => there[i]).map(({ time, until }) =>
    until === null
      ? rule(at(time), LETTERS, at(time), bottom, "var(--muted)", { "stroke-dasharray": "2 3" })
      : drawn("rect", { x: at(time), y: LETTERS, width: at(until) - at(time), height: bottom - LETTERS, fill: "var(--mark)", "fill-opacity": 0.4 }));
  if (small) return parts;
  const places = new Map([...data.changes.entries()].filter(([i]) => there[i]).map(([i, { time }]) => [i, at(time)]));
  return [...parts, ...labels(places, 9).map((item) => label(item.x, 11, item.text, { "font-weight": 600, fill: "var(--ink)" }))];
}

const alarmsOf = (own, xs, ys) =>
  [...own.alarms].filter((i) => ys[i] !== null).map((i) => drawn("path", { d: `M${xs[i] - 5} ${ys[i] + 4}h10l-5 -9z`, fill: "var(--bad)" }));

// Where the level changed: an upright line, and the bar of its interval at the foot of the chart; grey where the level
// was learned again, which is no alarm.
const shiftsOf = (own, x, bottom) => {
  const [first, last] = extent(own.at);
  const at = (seconds) => x(Math.min(Math.max(seconds, first), last));
  return own.shifts.flatMap(({ since, low, high, is_alarm: isAlarm }) => {
    const ink = isAlarm ? "var(--bad)" : "var(--muted)";
    return [
      rule(at(since), LETTERS, at(since), bottom, ink, { "stroke-width": 1.2 }),
      rule(at(low), bottom - 2, Math.max(at(high), at(low) + 2), bottom - 2, ink, { "stroke-width": 4, "stroke-opacity": 0.6 }),
    ];
  });
};

// The sums below, with their limit; what is far beyond it is cut off.
function sumsOf(own, xs, top, width) {
  const most = Math.min(Math.max(own.limit * 1.3, extent(own.cusum)[1]), MOST_LIMITS * own.limit);
  const over = scale([0, most], top + SUMS, top + 2);
  const y = (value) => over(Math.min(value, most));
  const limit = y(own.limit);
  return [
    rule(LEFT, top + SUMS, width - RIGHT, top + SUMS, "var(--rule)"),
    rule(LEFT, limit, width - RIGHT, limit, "var(--bad)", { "stroke-dasharray": "5 3" }),
    label(LEFT - 6, limit + 4, amount(own.limit), { "text-anchor": "end" }),
    label(LEFT - 6, top + SUMS + 2, "0", { "text-anchor": "end" }),
    drawn("path", { d: line(xs, own.cusum.map((value) => (value === null ? null : y(value)))), fill: "none", stroke: "var(--ink)", "stroke-width": 1.2 }),
  ];
}

// Times along the foot, as many as there is room for.
function timesOf(own, x, y, width) {
  const [first, last] = extent(own.at);
  const n = Math.max(Math.min(Math.floor((width - LEFT) / 130), own.at.length - 1), 1);
  const at = Array.from({ length: n + 1 }, (_, i) => own.at[nearest(own.at, first + (i / n) * (last - first))]);
  return [...new Set(at)].map((seconds, i, all) => {
    const anchor = i === 0 ? "start" : i === all.length - 1 ? "end" : "middle";
    return label(x(seconds), y, moment(seconds), { "text-anchor": anchor });
  });
}

// What one window says; the chart answers the pointer, and the arrows of the keyboard.
export function windowText(place, i) {
  const own = numbers(place);
  const values = { time: moment(own.at[i]), value: amount(own.value[i]), n: amount(own.n[i]), expected: amount(own.expected[i]) };
  const limits = say("limits", { ...values, low: amount(own.low[i]), high: amount(own.high[i]), sum: amount(own.cusum[i]) });
  return say("window", values) + (own.expected[i] === null ? "" : limits) + (own.alarms.has(i) ? say("alarm") : "");
}

function pointer(svg, own, xs, bottom) {
  const hair = rule(0, LETTERS, 0, bottom, "var(--ink)", { "stroke-opacity": 0.35, visibility: "hidden" });
  svg.append(hair);
  return {
    svg,
    n: own.at.length,
    at: (event) => nearest(xs, event.clientX - svg.getBoundingClientRect().left),
    show(i) {
      hair.setAttribute("x1", xs[i]);
      hair.setAttribute("x2", xs[i]);
      hair.setAttribute("visibility", "visible");
    },
  };
}

// The end of what lasts: its last day where it ends at midnight.
const lastMoment = (seconds) => (moment(seconds).includes(" ") ? moment(seconds) : moment(seconds - 1).slice(0, 10));

// The letters that the chart of a place has, with what changed.
export function changesList(place) {
  const [first, last] = extent(numbers(place).at);
  const there = [...data.changes.entries()].filter(([, { time, until }]) => (until ?? time) >= first && time <= last);
  if (!there.length) return null;
  const items = there.map(([i, { time, until }]) => {
    const when = until === null ? moment(time) : say("from_to", { start: moment(time), end: lastMoment(until) });
    return element("li", {}, element("b", {}, letter(i)), ` ${when} ${texts.changes[i]}`);
  });
  return element("ul", { class: "letters" }, ...items);
}
