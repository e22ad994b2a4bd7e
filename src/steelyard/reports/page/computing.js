// What the page computes, without the page: packed columns, filters, order.  `report.js` shows it.

export const NOTHING = 65535;
export const ROWS_PER_PAGE = 15;

// Texts ------------------------------------------------------------------------------------------------------------

export function shortened(text, size) {
  const line = text.replace(/\s+/g, " ");
  return line.length <= size ? line : `${line.slice(0, size - 1)}…`;
}

// The parts of an answer, [text, sentence, mark], as sentences [sentence, [[text, mark], ...]], in order.
export function pieces(parts) {
  const grouped = [];
  for (const [text, sentence, mark] of parts) {
    if (grouped.at(-1)?.[0] !== sentence) grouped.push([sentence, []]);
    grouped.at(-1)[1].push([text, mark]);
  }
  return grouped;
}

// Packed columns ---------------------------------------------------------------------------------------------------

export function lazily(compute) {
  let value;
  return () => {
    if (value === undefined) value = compute();
    return value;
  };
}

// Whole numbers of 8, 16 or 32 bits, from base64.
export function unpack(column) {
  const bytes = Uint8Array.from(atob(column.data), (letter) => letter.charCodeAt(0));
  if (column.bits === 8) return bytes;
  return column.bits === 16 ? new Uint16Array(bytes.buffer) : new Uint32Array(bytes.buffer);
}

// The values of one measure, system by system: steps of a power of ten above the lowest value, or NOTHING.
export function measureColumn(packed, nQuestions) {
  const steps = lazily(() => unpack({ data: packed.data, bits: 16 }));
  const size = 10 ** packed.decimals;
  return {
    value: (system, question) => {
      const step = steps()[system * nQuestions + question];
      return step === NOTHING ? null : packed.low + step / size;
    },
    text: (value) => (value === null ? "–" : value.toFixed(Math.max(0, packed.decimals))),
    top: lazily(() => {
      const highest = steps().reduce((most, step) => (step !== NOTHING && step > most ? step : most), 0);
      return packed.low + highest / size;
    }),
  };
}

// Where the list of each system and question begins, and one more for the end.
export function offsets(lengths) {
  const starts = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) starts[i + 1] = starts[i] + lengths[i];
  return starts;
}

// Comparing systems ------------------------------------------------------------------------------------------------

// The highest value less the lowest, or null where there is none.
export function spread(values) {
  const present = values.filter((value) => value !== null);
  return present.length ? Math.max(...present) - Math.min(...present) : null;
}

// Of two values the first less the second, or null where one is missing; of others their spread.
export function difference(values) {
  if (values.length !== 2) return spread(values);
  return values.includes(null) ? null : values[0] - values[1];
}

// A number with its sign, and a true minus; none before 0.
export function signed(text) {
  if (/^-?[0.]+$/.test(text)) return text.replace("-", "");
  return text.startsWith("-") ? `\u2212${text.slice(1)}` : `+${text}`;
}

// Where the entries of a list are in another one: their place there, from 0, and how many places further up they are
// here; null for an entry that the other list lacks.
export function moves(own, other) {
  const places = new Map([...other].map((entry, place) => [entry, place]));
  return [...own].map((entry, place) => {
    const there = places.get(entry);
    return there === undefined ? null : { there, up: there - place };
  });
}

// Questions by their values in two systems: equal pairs are one row, with their number and the first question.
export function pairs(across, up, nQuestions) {
  const rows = new Map();
  const counts = { above: 0, below: 0, even: 0 };
  for (let q = 0; q < nQuestions; q++) {
    const [x, y] = [across(q), up(q)];
    if (x === null || y === null) continue;
    counts[y > x ? "above" : y < x ? "below" : "even"]++;
    const key = `${x.toFixed(3)} ${y.toFixed(3)}`;
    const row = rows.get(key);
    if (row) row.n++;
    else rows.set(key, { x, y, n: 1, q });
  }
  return { rows: [...rows.values()], ...counts };
}

// The view ---------------------------------------------------------------------------------------------------------

// Columns that a table begins with: many systems are a choice of the best ones, and of the baseline.
export const SYSTEMS_AT_FIRST = 6;
const FURTHER = ["spread", "outcome"];

// What the page shows of the questions at first.  Measures, systems and tags are numbers; no measure is all of them.
// `page` has ids, systems, measures, tag_names, outcomes, sections, order (best first) and pair (two systems, or null).
export function firstView(page) {
  const { order, pair, measures, systems } = page;
  return {
    search: "",
    tag: "",
    outcome: "",
    system: order[0],
    measure: systems.length === 1 && measures.length > 1 ? null : 0,
    systems: order.filter((s, place) => order.length <= SYSTEMS_AT_FIRST || place < SYSTEMS_AT_FIRST || s === pair?.[0]),
    hidden: [],
    sort: { column: `0/${order[0]}`, down: false },
    question: null,
    pair: pair ?? [order[0]],
    section: "",
  };
}

// The columns of values, and the further ones that are not hidden.
export function columnsOf(view, page) {
  const measures = view.measure === null ? page.measures.map((_, j) => j) : [view.measure];
  const values = view.systems.flatMap((s) => measures.map((j) => `${j}/${s}`));
  const needed = { spread: view.systems.length > 1, outcome: page.has_outcomes };
  return [...values, ...FURTHER.filter((name) => needed[name] && !view.hidden.includes(name))];
}

// A view as the part of an address behind #, by the names that people know; what is as at first is left out.
export function addressOf(view, page) {
  const first = firstView(page);
  const facts = new URLSearchParams();
  const add = (key, value, before) => {
    if (JSON.stringify(value) !== JSON.stringify(before)) for (const item of [value].flat()) facts.append(key, item);
  };
  const names = (systems) => systems.map((s) => page.systems[s]);
  if (view.question !== null) {
    add("question", page.ids[view.question]);
    add("beside", names(view.pair), names(first.pair));
  }
  add("search", view.search, "");
  add("tag", view.tag === "" ? "" : page.tag_names[view.tag], "");
  add("outcome", view.outcome, "");
  add("of", page.systems[view.system], page.systems[first.system]);
  add("measure", page.measures[view.measure] ?? "all", page.measures[first.measure] ?? "all");
  add("system", view.systems.length ? names(view.systems) : "", names(first.systems));
  add("hide", view.hidden, []);
  const sort = ({ column, down }) => `${down ? "-" : ""}${namedColumn(column, page)}`;
  add("sort", sort(view.sort), sort(first.sort));
  const address = facts.toString().replace(/%(40|2F|3A|2C)/g, decodeURIComponent);
  const parts = [view.section, address].filter(Boolean);
  return parts.length ? `#${parts.join("&")}` : "";
}

// The view that an address names, as far as it names what there is; null for an address of something else.
export function viewAt(hash, page) {
  const first = firstView(page);
  const [start] = hash.slice(1).split("&");
  const section = page.sections.includes(start) ? start : "";
  if (!hash.includes("=") && !section) return hash.length > 1 ? null : first;
  const facts = new URLSearchParams(hash.slice(1));
  const place = (names, name) => (names.includes(name) ? names.indexOf(name) : null);
  const systems = (key) => facts.getAll(key).map((name) => place(page.systems, name));
  const pair = systems("beside");
  const shown = facts.get("system") === "" ? [] : page.order.filter((s) => systems("system").includes(s));
  const tag = place(page.tag_names, facts.get("tag"));
  const measure = facts.get("measure") === "all" ? null : (place(page.measures, facts.get("measure")) ?? first.measure);
  return {
    search: facts.get("search") ?? "",
    tag: tag === null ? "" : String(tag),
    outcome: page.outcomes.includes(facts.get("outcome")) ? facts.get("outcome") : "",
    system: place(page.systems, facts.get("of")) ?? first.system,
    measure,
    systems: shown.length || facts.get("system") === "" ? shown : first.systems,
    hidden: FURTHER.filter((name) => facts.getAll("hide").includes(name)),
    sort: sortAt(facts.get("sort") ?? "", page) ?? first.sort,
    question: place(page.ids, facts.get("question")),
    pair: pair.length === first.pair.length && !pair.includes(null) ? pair : first.pair,
    section,
  };
}

function namedColumn(column, page) {
  if (!column.includes("/")) return column;
  const [measure, system] = column.split("/");
  return `${page.measures[measure]}/${page.systems[system]}`;
}

function sortAt(text, page) {
  const down = text.startsWith("-");
  const name = down ? text.slice(1) : text;
  if (["id", ...FURTHER].includes(name)) return { column: name, down };
  for (const [j, measure] of page.measures.entries()) {
    const s = name.startsWith(`${measure}/`) ? page.systems.indexOf(name.slice(measure.length + 1)) : -1;
    if (s >= 0) return { column: `${j}/${s}`, down };
  }
  return null;
}

// Many systems -----------------------------------------------------------------------------------------------------

export const FIRST_SYSTEMS = 10;

// The number that an attribute holds; null without one.
export function numberOf(text) {
  return text === undefined || text === "" ? null : Number(text);
}

// The systems of a chart that has a row for each of them, from the first to the last; none of other charts.
export function systemsOf(spec) {
  const layer = [spec, ...(spec.layer || [])].find((part) => part.encoding?.y?.field === "system");
  return layer?.encoding.y.sort || [];
}

// The same chart with the first systems alone, and the one that is always shown.
export function fewer(spec, always) {
  const systems = systemsOf(spec);
  if (systems.length <= FIRST_SYSTEMS + 1) return spec;
  const shown = systems.filter((system, place) => place < FIRST_SYSTEMS || system === always);
  const isShown = new Set(shown);
  for (const layer of [spec, ...(spec.layer || [])]) if (layer.encoding?.y?.sort) layer.encoding.y.sort = shown;
  for (const [name, rows] of Object.entries(spec.datasets))
    spec.datasets[name] = rows.filter((row) => row.system === undefined || isShown.has(row.system));
  spec.height = (spec.height / systems.length) * shown.length;
  return spec;
}

// The table of questions -------------------------------------------------------------------------------------------

// What a search looks through: the id, the question, and its tags.
export function searchable(data) {
  return data.ids.map((id, q) => {
    const tags = data.tags[q].map((tag) => data.tag_names[tag]);
    return [id, data.queries[q] || "", ...tags].join(" ").toLowerCase();
  });
}

// The questions with every word of a search, with a tag (its number as text), and with an outcome, "stage:3" or
// "status:1"; an empty text asks for nothing.  `questions` has n, texts(), tags, and stage(q) and status(q).
export function fitting(questions, { search, tag, outcome }) {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const [kind, number] = outcome.split(":");
  const rows = [];
  for (let q = 0; q < questions.n; q++) {
    if (tag !== "" && !questions.tags[q].includes(Number(tag))) continue;
    if (outcome !== "" && questions[kind](q) !== Number(number)) continue;
    if (wanted.length && !wanted.every((word) => questions.texts()[q].includes(word))) continue;
    rows.push(q);
  }
  return rows;
}

// The rows by their keys, then by number; what has no key comes last in either direction.
export function ordered(rows, key, down) {
  const sign = down ? -1 : 1;
  const place = (value) => (value === null ? Infinity : sign * value);
  const keyed = rows.map((q) => [place(key(q)), q]);
  keyed.sort(([a, q], [b, r]) => a - b || q - r);
  return keyed.map(([, q]) => q);
}

// The order where another measure is shown: that of the same system by the new measure.
export function followed({ column, down }, measure) {
  return { column: measure !== null && column.includes("/") ? column.replace(/^\d+/, measure) : column, down };
}

// The order after a click on a column: the other way round; of another column the lowest first, of spreads the widest.
export function reordered({ column, down }, clicked) {
  return { column: clicked, down: clicked === column ? !down : clicked === "spread" };
}

// One page of the rows; a page number beyond the ends is moved inside.
export function pageOf(rows, page) {
  const last = Math.max(1, Math.ceil(rows.length / ROWS_PER_PAGE)) - 1;
  const number = Math.min(Math.max(page, 0), last);
  const begin = number * ROWS_PER_PAGE;
  return { number, last, begin, rows: rows.slice(begin, begin + ROWS_PER_PAGE) };
}

// The rows before and after one of them: undefined at the ends, and of a question that is not among them.
export function neighbours(rows, question) {
  const place = rows.indexOf(question);
  return place < 0 ? [] : [rows[place - 1], rows[place + 1]];
}

// Charts -----------------------------------------------------------------------------------------------------------

// Room is made for legends on narrow pages, and for squares.
export function fitted(spec, width) {
  if (typeof spec.width === "number") {
    spec.width = spec.height = Math.max(160, Math.min(spec.width, width - 80));
    return spec;
  }
  const size = (label) => [...label].reduce((sum, letter) => sum + (letter > "\u2e80" ? 13 : 7), 34);
  for (const layer of spec.layer || []) {
    const color = layer.encoding.color;
    if (!color?.scale?.domain) continue;
    const sizes = color.scale.domain.map(size);
    const total = sizes.reduce((sum, pixels) => sum + pixels, 0);
    const room = width - 110;
    if (total > room) color.legend = { ...color.legend, columns: Math.max(1, Math.floor(room / Math.max(...sizes))) };
  }
  return spec;
}
