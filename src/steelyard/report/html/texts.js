// What pages do with texts, without a page: words filled in, marks, names of files.

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
