// What pages do with texts, without a page: words filled in, marks, names and contents of files.

// The text of a key with its fields filled in; a key without a text has one for n = 1 and one for other n.
export function phrase(words, key, values = {}) {
  const text = words[key] ?? words[`${key}.${values.n === 1 ? "one" : "other"}`];
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// A text cut at its marks [start, end, start, end, ...] into [part, whether it is marked]; marks are sorted and apart.
// Offsets count code points, as Python does; strings of this language count halves of some of them.
// Of a text that is gold as a whole its margin says so: then it is cut nowhere.
export function stretches(text, marks, isGold = false) {
  if (!marks.length) return [[text, false]];
  const points = Array.from(text);
  if (isGold && marks[0] === 0 && marks[1] === points.length) return [[text, false]];
  const bounds = [0, ...marks, points.length];
  return bounds.slice(1).map((end, i) => [points.slice(bounds[i], end).join(""), i % 2 === 1]);
}

// The name of a file without what a name must not have.
export function fileName(...parts) {
  return parts.filter(Boolean).join("-").replace(/[^\p{L}\p{N}@._()=-]+/gu, "_");
}

// Rows of texts and numbers as CSV (RFC 4180).  A file of the page is for a spreadsheet, which must not compute a text.
export function csvOf(rows) {
  const field = (value) => {
    let text = String(value ?? "");
    if (/^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?%?$/i.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

// Data with its changes for another language: by key or place, with each new value in a list of its own.
export function patched(data, changes) {
  if (changes === undefined) return data;
  if (Array.isArray(changes)) return changes[0];
  for (const [key, change] of Object.entries(changes)) data[key] = patched(data[key], change);
  return data;
}

// A drawing with the colours that it has on light paper, which are `light-dark(LIGHT, DARK)` by name.
export function onWhite(svg, colourOf) {
  const light = (name) => colourOf(name).replace(/^\s*light-dark\(\s*([^,()]+),.*$/, "$1");
  return svg.replace(/var\((--[\w-]+)\)/g, (_, name) => light(name));
}
