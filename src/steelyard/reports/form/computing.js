// What the form computes, without a page: choices and their keys, the saved file, the way through the items, quotes.

export const FORMAT = "steelyard-review";
export const VERSION = 1;
const LABELS = ["supported", "contradicted", "not_found", "cannot_say"];
// Keys of grades that are no single digit; none of them does anything else.
const FURTHER_KEYS = "tewrioyaghbzld";

// Choices ----------------------------------------------------------------------------------------------------------

// What can be decided with one key: its name, its keys, and the decision that it makes.
export function choicesOf(form) {
  const cannotSay = { name: "cannot_say", keys: ["?"], decision: { label: "cannot_say" } };
  if (form.kind === "verdicts")
    return LABELS.map((label, i) => ({ name: label, keys: [String(i + 1), "scn?"[i]], decision: { label } }));
  if (form.kind === "quotes") return [{ name: "none", keys: ["0"], decision: { quotes: [] } }, cannotSay];
  const further = [...FURTHER_KEYS];
  const isDigit = (grade) => Number.isInteger(grade) && grade >= 0 && grade <= 9;
  const grades = form.scale.map(([grade, word]) => {
    const key = isDigit(grade) ? String(grade) : further.shift();
    return { name: String(grade), word, keys: key === undefined ? [] : [key], decision: { grade } };
  });
  return [...grades, cannotSay];
}

// The name of the choice that a decision is; "quotes" for some; null where nothing is decided.
export function choiceOf(decision) {
  if (decision?.label !== undefined) return decision.label;
  if (decision?.grade !== undefined) return String(decision.grade);
  if (decision?.quotes !== undefined) return decision.quotes.length ? "quotes" : "none";
  return null;
}

export const isDecided = (decision) => choiceOf(decision) !== null;

// A decision as another one; what was noted stays.
export function decided(before, decision, date) {
  return { ...decision, note: before?.note ?? "", date };
}

// How many items each choice has, and how many are open, by name.
export function countsOf(items, decisions) {
  const counts = new Map([["open", 0]]);
  for (const { item_id } of items) {
    const name = choiceOf(decisions.get(item_id)) ?? "open";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

// How many decisions and notes are newer than the last file.
export function unfiled(items, decisions, filed) {
  return items.filter(({ item_id }) => (decisions.get(item_id)?.date ?? "") > filed).length;
}

// The way ----------------------------------------------------------------------------------------------------------

// The next place in a direction that fits, or null at the end.
export function nextPlace(n, place, step, fits = () => true) {
  for (let next = place + step; next >= 0 && next < n; next += step) if (fits(next)) return next;
  return null;
}

// The next place that fits behind this one, then from the first on, this one last; null without any.
export function nextOpen(n, place, fits) {
  return nextPlace(n, place, 1, fits) ?? nextPlace(place + 1, -1, 1, fits);
}

// Files ------------------------------------------------------------------------------------------------------------

export const idsOf = (form) => form.items.map(({ item_id }) => item_id);

// What is saved of one rater: decisions on these items in their order, and notes on what is not decided.
export function fileOf(form, rater, decisions, date, ids = idsOf(form)) {
  const own = ids.map((item_id) => ({ item_id, ...decisions.get(item_id) }));
  return {
    format: FORMAT,
    version: VERSION,
    review_id: form.review_id,
    kind: form.kind,
    rater,
    date,
    n_items: form.items.length,
    decisions: own.filter(isDecided),
    notes: own.filter((decision) => !isDecided(decision) && decision.note),
  };
}

// A saved file as { rater, decisions, leftOut }, or { problem, value } where it is none of this form.
// Decisions on items other than these, and those that this form cannot make, are left out, and counted.
export function readFile(text, form, ids = new Set(idsOf(form))) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    return { problem: "json" };
  }
  const expected = { format: FORMAT, version: VERSION, review_id: form.review_id, kind: form.kind };
  for (const [name, value] of Object.entries(expected))
    if (file?.[name] !== value) return { problem: name, value: String(file?.[name]) };
  if (typeof file.rater !== "string" || !file.rater.trim() || !Array.isArray(file.decisions)) return { problem: "json" };
  const rows = [...file.decisions, ...(Array.isArray(file.notes) ? file.notes : [])];
  const decisions = new Map();
  let leftOut = 0;
  for (const row of rows) {
    const decision = ids.has(row?.item_id) ? checked(row, form) : null;
    if (decision === null) leftOut += 1;
    else decisions.set(row.item_id, decision);
  }
  return { rater: file.rater.trim(), decisions, leftOut };
}

// A row of a file as a decision that the form can make, or a note alone; null where it is neither.
function checked(row, form) {
  const about = { note: typeof row.note === "string" ? row.note : "", date: typeof row.date === "string" ? row.date : "" };
  if (row.quotes !== undefined && form.kind === "quotes") {
    const isQuote = (quote) =>
      typeof quote?.doc === "string" && typeof quote.quote === "string" && quote.start >= 0 && quote.end > quote.start;
    return Array.isArray(row.quotes) && row.quotes.every(isQuote) ? { quotes: row.quotes, ...about } : null;
  }
  const choice = choicesOf(form).find(({ name }) => name === choiceOf(row));
  if (choice !== undefined) return { ...choice.decision, ...about };
  return choiceOf(row) === null && about.note ? about : null;
}

// Decisions with those of a file: of two about one item the later one counts.
export function merged(decisions, others) {
  const together = new Map(decisions);
  for (const [id, decision] of others) {
    const own = together.get(id);
    if (own === undefined || own.date <= decision.date) together.set(id, decision);
  }
  return together;
}

// Texts ------------------------------------------------------------------------------------------------------------

// A text as it is shown: each character that could move, ring or turn something by another one.
export function shown(text, replacements) {
  let changed = "";
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const other = replacements[text[i]];
    if (other === undefined) continue;
    changed += text.slice(from, i) + other;
    from = i + 1;
  }
  return from ? changed + text.slice(from) : text;
}

// What a selection [from, to) of halves of characters quotes: offsets in code points, as Python counts, without
// white space at the ends; null where nothing is left.
export function quoteOf(text, from, to) {
  const raw = text.slice(from, to);
  const quote = raw.trim();
  if (!quote) return null;
  const begin = from + raw.indexOf(quote);
  const start = Array.from(text.slice(0, begin)).length;
  return { start, end: start + Array.from(quote).length, quote };
}

// Quotes in the order of their texts, the new one with all that it overlaps as one.
export function withQuote(quotes, quote, text, docs) {
  const others = quotes.filter(({ doc, start, end }) => doc !== quote.doc || end <= quote.start || start >= quote.end);
  const overlapped = quotes.filter((other) => !others.includes(other));
  const start = Math.min(quote.start, ...overlapped.map((other) => other.start));
  const end = Math.max(quote.end, ...overlapped.map((other) => other.end));
  const whole = { doc: quote.doc, start, end, quote: Array.from(text).slice(start, end).join("") };
  return [...others, whole].sort((a, b) => docs.indexOf(a.doc) - docs.indexOf(b.doc) || a.start - b.start);
}

// Sentences of a text as [from, to) in halves of characters, without white space at their ends.
export function sentencesOf(text, language) {
  const segments = new Intl.Segmenter(language, { granularity: "sentence" }).segment(text);
  const sentences = [];
  for (const { segment, index } of segments) {
    const inner = segment.trim();
    if (inner) sentences.push([index + segment.indexOf(inner), index + segment.indexOf(inner) + inner.length]);
  }
  return sentences;
}

// The sentences that a selection becomes with a step: all of them moved, or its end where it is extended.
export function stepped(sentences, [first, last], step, isExtended) {
  const at = Math.min(Math.max(last + step, 0), sentences.length - 1);
  return isExtended ? [Math.min(first, at), at] : [at, at];
}

// A text cut at two lists of passages [start, end], which may overlap: [{text, isMarked, isLikely}].
export function layers(text, marks, likely) {
  const points = Array.from(text);
  const bounds = new Set([0, points.length, ...[...marks, ...likely].flat()]);
  const cuts = [...bounds].filter((at) => at <= points.length).sort((a, b) => a - b);
  const covers = (rows, at) => rows.some(([start, end]) => start <= at && at < end);
  return cuts.slice(1).map((end, i) => ({
    text: points.slice(cuts[i], end).join(""), isMarked: covers(marks, cuts[i]), isLikely: covers(likely, cuts[i]),
  }));
}
