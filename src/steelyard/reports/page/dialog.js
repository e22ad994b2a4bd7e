// One question in full: its gold, what every system made of it, and the lists of two systems side by side.
import { stretches } from "../html/texts.js";
import { byId, element } from "../html/elements.js";
import { lifetime, say } from "../html/shell.js";
import { moves, neighbours } from "./computing.js";
import { judgedAnswer } from "./answer.js";
import { about, list, nSystems, order, outcomeOf, source } from "./base.js";
import { rowsOfTable, showCurrentRow } from "./table.js";
import { follow, change, view } from "./view.js";

const GOLD_AT_FIRST = 4;
const dialog = byId("question");
const sides = [byId("list-0"), byId("list-1")].filter(Boolean);
const selects = [byId("beside-0"), byId("beside-1")].filter(Boolean);

// The question ---------------------------------------------------------------------------------------------------

function* facts({ id, query, tags, expected, gold, more, systems }) {
  yield element("h2", { id: "question-title" }, query || id);
  if (tags.length) {
    const names = tags.map((tag) => element("span", { class: "tag" }, about.tag_names[tag]));
    yield element("p", { class: "tags" }, ...names);
  }
  if (expected !== null) {
    yield element("h3", {}, say("expected"));
    yield element("p", { class: "expected" }, expected);
  }
  yield element("h3", {}, say("gold"));
  yield goldList(gold, more, systems);
}

function goldList(gold, more, systems) {
  // Pieces without gain are labelled as no gold.
  const pieces = [...gold.entries()].filter(([, piece]) => piece[1] > 0);
  if (!pieces.length) return element("p", {}, say("no_gold"));
  const items = pieces.map(([i, [kind, gain, group, name, place, text]]) => {
    const where = [say(`kind.${kind}`, { name, place })];
    if (gain !== 1) where.push(say("gain", { gain }));
    if (group !== null) where.push(say("alternative", { group }));
    const missing = systems.filter(({ lost }) => lost.includes(i)).length;
    if (missing) where.push(say(missing === nSystems ? "lost_everywhere" : "lost_somewhere", { n: missing }));
    return element(
      "li",
      {},
      text === null ? null : element("q", {}, text),
      element("span", { class: "where" }, where.join(say("separator"))),
    );
  });
  if (more) items.push(element("li", {}, say("gold_more", { n: more })));
  // Names alone are many to a line; of many texts the first ones are enough to begin with.
  if (pieces.every(([, piece]) => piece[5] === null)) return element("ul", { class: "gold brief" }, ...items);
  const listed = (part) => element("ul", { class: "gold" }, ...part);
  if (items.length <= GOLD_AT_FIRST) return listed(items);
  const n = items.length - GOLD_AT_FIRST + (more ? more - 1 : 0);
  const rest = element("details", {}, element("summary", {}, say("gold_more", { n })), listed(items.slice(GOLD_AT_FIRST)));
  return element("div", {}, listed(items.slice(0, GOLD_AT_FIRST)), rest);
}

// All systems ----------------------------------------------------------------------------------------------------

function systemRow(s, question) {
  const name = element("button", { type: "button", class: "plain", "data-system": s }, about.systems[s]);
  const { values, list: passages } = question.systems[s];
  const first = passages.findIndex(({ gain }) => gain > 0);
  return element(
    "tr",
    { class: view.pair.includes(s) ? "chosen" : null },
    element("th", { scope: "row" }, name),
    ...values.map((value) => element("td", {}, value)),
    element("td", {}, first >= 0 ? String(first + 1) : passages.length < about.depth ? "–" : `> ${about.depth}`),
    element("td", { class: "text" }, outcomeOf(s, view.question)),
  );
}

// Lists ----------------------------------------------------------------------------------------------------------

// What a system made of a question, beside another system; `items` finds the places of the list, once it is shown.
function* system(s, question, other, items) {
  const own = question.systems[s];
  // Of several systems, the table above has these.
  if (nSystems === 1) {
    const values = own.values.map((value, j) => element("span", {}, `${about.measures[j]} ${value}`));
    yield element("p", { class: "values" }, ...values);
    yield element("p", { class: "said" }, outcomeOf(s, view.question));
  }
  if (own.failure !== undefined) yield element("p", { class: "said lost" }, say("failure", { why: own.failure }));
  const became = list.answer(s, view.question);
  if (became !== undefined) yield element("p", { class: "said" }, about.answer_names[became]);
  if (own.judged !== undefined) {
    yield element("h3", {}, say("answer"));
    yield judgedAnswer(own.judged, own.list, items);
  } else if (own.answer !== undefined) {
    yield element("h3", {}, say("answer"));
    yield element("div", { class: "answer" }, own.answer === null ? say("left_out") : own.answer);
  }
  yield ranked(s, own, other, question.systems[other]);
}

function ranked(s, own, other, beside) {
  if (!own.list.length) return element("p", { class: "said" }, say(about.depth ? "nothing_retrieved" : "lists_left_out"));
  const entries = (passages) => passages.map(({ entry }) => entry);
  const moved = beside === undefined ? [] : moves(entries(own.list), entries(beside.list));
  const items = own.list.map((passage, place) => {
    const item = chunk(place + 1, passage, own.hasEvidence);
    if (beside !== undefined) item.firstChild.append(move(moved[place], s === view.pair[1], about.systems[other]));
    if (about.k && place === about.k) item.prepend(element("div", { class: "cut" }, say("below_k", { k: about.k })));
    return item;
  });
  return element("ol", { class: "chunks" }, ...items);
}

// Where an entry is in the other list: on the left where it goes, on the right how far it came.
function move(step, arrived, other) {
  const [sign, meaning, kind] =
    step === null
      ? [arrived ? "+" : "–", say("move.only", { other, depth: about.depth }), "only"]
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

function chunk(rank, { entry, id, doc, text, marks, gain }, hasEvidence) {
  const isGold = gain !== null && gain > 0;
  const name = element("div", { class: "name" }, element("b", {}, id));
  if (doc !== undefined && !id.startsWith(doc)) name.append(element("span", {}, doc));
  if (isGold) name.append(element("span", { class: "gain" }, say("chunk_gain", { gain })));
  else if (gain === null && !hasEvidence) name.append(element("span", {}, say("unjudged")));
  const body = element("div", {}, name);
  if (text !== undefined && text !== "") body.append(textOf(text, marks, isGold));
  return element(
    "li",
    { class: isGold ? "is-gold" : null, "data-entry": entry },
    element("span", { class: "rank" }, String(rank)),
    body,
  );
}

function textOf(text, marks, isGold) {
  if (text === null) return element("p", { class: "text" }, say("left_out"));
  const parts = stretches(text, marks, isGold).map(([part, isMarked]) => (isMarked ? element("mark", {}, part) : part));
  return element("p", { class: "text" }, ...parts);
}

// Showing --------------------------------------------------------------------------------------------------------

// The system whose button was pressed, which is to have the focus in the table that is written again.
let again = null;

// Beside the list where there is room for both, else above everything.
const wide = matchMedia("(min-width: 72rem)");

function open() {
  if (dialog.open) return;
  dialog.closest("details.fold").open = true;
  if (wide.matches) dialog.show();
  else dialog.showModal();
  byId("question-close").focus({ preventScroll: wide.matches });
}

async function show() {
  const { question: place, pair } = view;
  if (place === null) {
    dialog.close();
    showCurrentRow();
    return;
  }
  const key = JSON.stringify([place, pair]);
  if (key === dialog.dataset.shown && dialog.open) return;
  const another = JSON.parse(dialog.dataset.shown ?? "[]")[0] !== place;
  dialog.dataset.shown = key;
  const question = await source.question(place);
  // The reader may have gone on, or changed the language, meanwhile.
  if (dialog.dataset.shown !== key || view.question !== place || !dialog.isConnected) return;
  const [before, after] = neighbours(rowsOfTable(), place);
  byId("question-before").disabled = before === undefined;
  byId("question-after").disabled = after === undefined;
  byId("question-id").textContent = question.id;
  if (another) byId("question-facts").replaceChildren(...facts(question));
  byId("question-systems")?.tBodies[0].replaceChildren(...order.map((s) => systemRow(s, question)));
  for (const [i, side] of sides.entries()) {
    if (selects[i]) selects[i].value = pair[i];
    const items = () => side.querySelectorAll("ol.chunks > li");
    side.replaceChildren(...system(pair[i], question, pair[1 - i], items));
  }
  open();
  showCurrentRow();
  if (again !== null) byId("question-systems").querySelector(`button[data-system="${again}"]`).focus();
  again = null;
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
    again = button.dataset.system;
    beside(1, Number(again));
  });
  dialog.addEventListener("close", () => {
    if (view.question !== null) change({ question: null });
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog && dialog.matches(":modal")) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.matches(".text, .scroll, select")) return;
    if (event.key === "ArrowLeft") step(0);
    if (event.key === "ArrowRight") step(1);
  });
  // Dialogs above the page do so of themselves.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && dialog.open && !dialog.matches(":modal")) dialog.close();
  }, lifetime());
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
