// One question in full: its gold, what every system made of it, and the lists of two systems side by side.
import { stretches } from "../html/texts.js";
import { byId, element } from "../html/elements.js";
import { lifetime, say } from "../html/shell.js";
import { moves, neighbours } from "./computing.js";
import { judgedAnswer } from "./answer.js";
import { answerOf, columns, data, lists, nSystems, order, outcomeOf } from "./base.js";
import { rowsOfTable } from "./table.js";
import { follow, change, view } from "./view.js";

const GOLD_AT_FIRST = 4;
const dialog = byId("question");
const sides = [byId("list-0"), byId("list-1")].filter(Boolean);
const selects = [byId("beside-0"), byId("beside-1")].filter(Boolean);

// The question ---------------------------------------------------------------------------------------------------

function* facts(question) {
  yield element("h2", { id: "question-title" }, data.queries[question] || data.ids[question]);
  if (data.tags[question].length) {
    const tags = data.tags[question].map((tag) => element("span", { class: "tag" }, data.tag_names[tag]));
    yield element("p", { class: "tags" }, ...tags);
  }
  if (data.expected && data.expected[question] !== null) {
    yield element("h3", {}, say("expected"));
    yield element("p", { class: "expected" }, data.expected[question]);
  }
  yield element("h3", {}, say("gold"));
  yield goldList(question);
}

function goldList(question) {
  // Pieces without gain are labelled as no gold.
  const pieces = [...data.gold[question].entries()].filter(([, piece]) => piece[1] > 0);
  if (!pieces.length) return element("p", {}, say("no_gold"));
  const items = pieces.map(([i, [kind, gain, group, name, place, text]]) => {
    const about = [say(`kind.${kind}`, { name, place })];
    if (gain !== 1) about.push(say("gain", { gain }));
    if (group !== null) about.push(say("alternative", { group }));
    const missing = data.of.filter((of) => (of.lost[question] || []).includes(i)).length;
    if (missing) about.push(say(missing === nSystems ? "lost_everywhere" : "lost_somewhere", { n: missing }));
    return element(
      "li",
      {},
      text === null ? null : element("q", {}, text),
      element("span", { class: "where" }, about.join(say("separator"))),
    );
  });
  const more = data.gold_more[question];
  if (more) items.push(element("li", {}, say("gold_more", { n: more })));
  // Names alone are many to a line; of many texts the first ones are enough to begin with.
  if (pieces.every(([, piece]) => piece[5] === null)) return element("ul", { class: "gold brief" }, ...items);
  const list = (part) => element("ul", { class: "gold" }, ...part);
  if (items.length <= GOLD_AT_FIRST) return list(items);
  const n = items.length - GOLD_AT_FIRST + (more ? more - 1 : 0);
  const rest = element("details", {}, element("summary", {}, say("gold_more", { n })), list(items.slice(GOLD_AT_FIRST)));
  return element("div", {}, list(items.slice(0, GOLD_AT_FIRST)), rest);
}

// All systems ----------------------------------------------------------------------------------------------------

function systemRow(s, question) {
  const name = element("button", { type: "button", class: "plain", "data-system": s }, data.systems[s]);
  const list = listOf(s, question);
  const first = list.findIndex(({ gain }) => gain > 0);
  return element(
    "tr",
    { class: view.pair.includes(s) ? "chosen" : null },
    element("th", { scope: "row" }, name),
    ...columns.map((column) => element("td", {}, column.text(column.value(s, question)))),
    element("td", {}, first >= 0 ? String(first + 1) : list.length < data.depth ? "–" : `> ${data.depth}`),
    element("td", { class: "text" }, outcomeOf(s, question)),
  );
}

// Lists ----------------------------------------------------------------------------------------------------------

function listOf(s, question) {
  const { starts, entry, gain } = lists();
  const list = s * data.ids.length + question;
  const places = [];
  for (let i = starts[list]; i < starts[list + 1]; i++) places.push({ entry: entry[i], gain: data.gains[gain[i]] });
  return places;
}

const entriesOf = (s, question) => listOf(s, question).map(({ entry }) => entry);

// `items` finds the places of the list, once it is shown.
function* system(s, question, other, items) {
  const of = data.of[s];
  // Of several systems, the table above has these.
  if (nSystems === 1) {
    const values = columns.map((column, j) => `${data.measures[j]} ${column.text(column.value(s, question))}`);
    yield element("p", { class: "values" }, ...values.map((value) => element("span", {}, value)));
    yield element("p", { class: "said" }, outcomeOf(s, question));
  }
  if (of.failures[question] !== undefined) {
    yield element("p", { class: "said lost" }, say("failure", { why: of.failures[question] }));
  }
  const became = answerOf(s, question);
  if (became !== undefined) yield element("p", { class: "said" }, data.answer_names[became]);
  const judged = of.judged[question];
  if (judged !== undefined) {
    yield element("h3", {}, say("answer"));
    yield judgedAnswer(judged, entriesOf(s, question), items);
  } else if (of.answers[question] !== undefined) {
    const answer = of.answers[question];
    yield element("h3", {}, say("answer"));
    yield element("div", { class: "answer" }, answer === null ? say("left_out") : answer);
  }
  yield ranked(s, question, other);
}

function ranked(s, question, other) {
  const list = listOf(s, question);
  if (!list.length) return element("p", { class: "said" }, say(data.depth ? "nothing_retrieved" : "lists_left_out"));
  const moved = other === undefined ? [] : moves(entriesOf(s, question), entriesOf(other, question));
  const items = list.map(({ entry, gain }, place) => {
    const item = chunk(place + 1, entry, gain, s, question);
    if (other !== undefined) item.firstChild.append(move(moved[place], s === view.pair[1], data.systems[other]));
    if (data.k && place === data.k) item.prepend(element("div", { class: "cut" }, say("below_k", { k: data.k })));
    return item;
  });
  return element("ol", { class: "chunks" }, ...items);
}

// Where an entry is in the other list: on the left where it goes, on the right how far it came.
function move(step, arrived, other) {
  const [sign, meaning, kind] =
    step === null
      ? [arrived ? "+" : "–", say("move.only", { other, depth: data.depth }), "only"]
      : step.up === 0
        ? ["=", say("move.same", { other, rank: step.there + 1 }), "same"]
        : [
            arrived ? `${step.up > 0 ? "↑" : "↓"}${Math.abs(step.up)}` : `→${step.there + 1}`,
            say("move.from", { other, rank: step.there + 1 }),
            step.up > 0 === arrived ? "up" : "down",
          ];
  return element(
    "span",
    { class: `move ${kind}`, title: meaning },
    element("span", { "aria-hidden": "true" }, sign),
    element("span", { class: "alternative" }, meaning),
  );
}

function chunk(rank, entry, gain, s, question) {
  const isGold = gain !== null && gain > 0;
  const name = element("div", { class: "name" }, element("b", {}, data.chunk_ids[entry]));
  const doc = data.chunk_docs ? data.chunk_docs[entry] : -1;
  if (doc >= 0 && !data.chunk_ids[entry].startsWith(data.doc_names[doc]))
    name.append(element("span", {}, data.doc_names[doc]));
  if (isGold) name.append(element("span", { class: "gain" }, say("chunk_gain", { gain })));
  else if (gain === null && !data.of[s].evidence) name.append(element("span", {}, say("unjudged")));
  const body = element("div", {}, name);
  if (data.chunk_texts && data.chunk_texts[entry] !== "") body.append(textOf(entry, question, isGold));
  return element(
    "li",
    { class: isGold ? "is-gold" : null, "data-entry": entry },
    element("span", { class: "rank" }, String(rank)),
    body,
  );
}

function textOf(entry, question, isGold) {
  const text = data.chunk_texts[entry];
  if (text === null) return element("p", { class: "text" }, say("left_out"));
  const marks = data.marks[question]?.[entry] || [];
  const parts = stretches(text, marks, isGold).map(([part, isMarked]) => (isMarked ? element("mark", {}, part) : part));
  return element("p", { class: "text" }, ...parts);
}

// Showing --------------------------------------------------------------------------------------------------------

function show() {
  const { question, pair } = view;
  if (question === null) {
    dialog.close();
    return;
  }
  const key = JSON.stringify([question, pair]);
  if (key === dialog.dataset.shown && dialog.open) return;
  const another = JSON.parse(dialog.dataset.shown ?? "[]")[0] !== question;
  dialog.dataset.shown = key;
  const [before, after] = neighbours(rowsOfTable(), question);
  byId("question-before").disabled = before === undefined;
  byId("question-after").disabled = after === undefined;
  byId("question-id").textContent = data.ids[question];
  if (another) byId("question-facts").replaceChildren(...facts(question));
  byId("question-systems")?.tBodies[0].replaceChildren(...order.map((s) => systemRow(s, question)));
  for (const [i, side] of sides.entries()) {
    if (selects[i]) selects[i].value = pair[i];
    const items = () => side.querySelectorAll("ol.chunks > li");
    side.replaceChildren(...system(pair[i], question, pair[1 - i], items));
  }
  if (!dialog.open) {
    dialog.showModal();
    byId("question-close").focus();
  }
  if (another) dialog.scrollTop = 0;
  for (const text of dialog.querySelectorAll(".text")) {
    // What scrolls can be scrolled from the keyboard.
    if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
    const mark = text.querySelector("mark");
    if (mark) text.scrollTop = Math.max(0, mark.offsetTop - text.offsetTop - 24);
  }
}

export function startDialog() {
  // 0 is the question before the current one, 1 the one after it.
  const step = (side) => {
    const question = neighbours(rowsOfTable(), view.question)[side];
    if (question !== undefined) change({ question }, { quietly: true });
  };
  const beside = (side, s) => change({ pair: view.pair.with(side, s) }, { quietly: true });
  byId("question-before").addEventListener("click", () => step(0));
  byId("question-after").addEventListener("click", () => step(1));
  byId("question-close").addEventListener("click", () => dialog.close());
  for (const [i, select] of selects.entries()) {
    select.addEventListener("change", () => beside(i, Number(select.value)));
  }
  byId("question-systems")?.addEventListener("click", (event) => {
    const button = event.target.closest("tr")?.querySelector("button[data-system]");
    if (!button) return;
    const s = Number(button.dataset.system);
    beside(1, s);
    byId("question-systems").querySelector(`button[data-system="${s}"]`).focus();
  });
  dialog.addEventListener("close", () => {
    if (view.question !== null) change({ question: null });
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.matches(".text, .scroll, select")) return;
    if (event.key === "ArrowLeft") step(0);
    if (event.key === "ArrowRight") step(1);
  });
  // The same passage in both lists is marked while the mouse is on one of them.
  for (const side of sides) {
    side.addEventListener("mouseover", (event) => {
      const entry = event.target.closest("[data-entry]")?.dataset.entry;
      for (const item of dialog.querySelectorAll("[data-entry]")) {
        item.classList.toggle("same", item.dataset.entry === entry);
      }
    });
    side.addEventListener("mouseleave", () => {
      for (const item of dialog.querySelectorAll(".same")) item.classList.remove("same");
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-question]");
    if (!link) return;
    event.preventDefault();
    change({ question: Number(link.dataset.question) });
  }, lifetime());
  follow(show);
}
