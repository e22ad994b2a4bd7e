// What control charts compute, without a page: values from their places, scales, ticks, paths and letters of changes.

// A chart of the page's data with its times in seconds and its values as numbers, null where there is none.
export function decoded(chart, times, steps) {
  const { first, unit, steps: gaps } = times[chart.time];
  const at = [first];
  for (const gap of gaps) at.push(at.at(-1) + gap * unit);
  const values = (places, [low, high]) => at.map((_, i) => (typeof places[i] === "number" ? low + (places[i] / steps) * (high - low) : null));
  const own = Object.fromEntries(["value", "expected", "low", "high"].map((name) => [name, values(chart[name], chart.range)]));
  const n = chart.value.length || chart.n.length ? at.length : 0;
  return { ...chart, ...own, cusum: values(chart.cusum, chart.cusum_range), at: at.slice(0, n), alarms: new Set(chart.alarms) };
}

// From values to pixels.
export function scale([low, high], from, to) {
  const share = high > low ? (to - from) / (high - low) : 0;
  const middle = high > low ? from : (from + to) / 2;
  return (value) => middle + (value - low) * share;
}

// The lowest and the highest of some values, null and others that are no numbers left out.
export function extent(values) {
  const there = values.filter((value) => Number.isFinite(value));
  return there.length ? [Math.min(...there), Math.max(...there)] : [0, 1];
}

// Round numbers from low to high, about so many.
export function ticks([low, high], most) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// The place of the number in a rising row that is nearest to one.
export function nearest(row, x) {
  let [low, high] = [0, row.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (row[middle] < x) low = middle;
    else high = middle;
  }
  return Math.abs(row[low] - x) <= Math.abs(row[high] - x) ? low : high;
}

// Stretches of places at which all rows have a value.
export function runs(...rows) {
  const parts = [];
  for (let i = 0; i < rows[0].length; i++) {
    if (rows.some((row) => row[i] === null)) continue;
    if (parts.at(-1)?.at(-1) === i - 1) parts.at(-1).push(i);
    else parts.push([i]);
  }
  return parts;
}

const pixel = (value) => Number(value.toFixed(1));

// A line through values, with gaps where there are none; one that is alone is a short stroke.
export function line(x, y) {
  return runs(y)
    .map((run) => `M${run.map((i) => `${pixel(x[i])} ${pixel(y[i])}`).join("L")}${run.length === 1 ? "h1" : ""}`)
    .join("");
}

// The area between two rows.  Where one has no value it is at the edge on its side.
export function band(x, low, high, [bottom, top]) {
  const own = x.map((_, i) => (low[i] === null && high[i] === null ? null : [low[i] ?? bottom, high[i] ?? top]));
  return runs(own)
    .map((run) => {
      const there = run.map((i) => `${pixel(x[i])} ${pixel(own[i][0])}`);
      const back = run.map((i) => `${pixel(x[i])} ${pixel(own[i][1])}`).reverse();
      return `M${[...there, ...back].join("L")}Z`;
    })
    .join("");
}

// Three digits, or all whole ones, as numbers are written in the tables; a dash where there is none.
export function amount(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value) < 1e-9 ? 0 : Math.abs(value);
  const text =
    size >= 100 || size === 0
      ? String(Math.round(size)).replace(/\B(?=(\d{3})+$)/g, ",")
      : Number(size.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  return value < 0 && text !== "0" ? `−${text}` : text;
}

// Letters of changes by their places in pixels; those that are closer than a letter takes share a label.
export function labels(places, room) {
  const listed = [];
  for (const [i, x] of [...places.entries()].sort((a, b) => a[1] - b[1])) {
    const last = listed.at(-1);
    if (last && x - last.x < room * last.text.length) last.text += letter(i);
    else listed.push({ x, text: letter(i) });
  }
  return listed;
}

// A, B, ..., Z, then numbers.
export const letter = (i) => (i < 26 ? String.fromCharCode(65 + i) : String(i + 1));
