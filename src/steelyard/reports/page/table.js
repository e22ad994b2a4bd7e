// The table of questions: filters, columns, order, pages.
import { csvFile, offer } from "../html/downloads.js";
import { byId, element } from "../html/elements.js";
import { say } from "../html/shell.js";
import {
  columnsOf,
  difference,
  fitting,
  followed,
  lazily,
  ordered,
  pageOf,
  reordered,
  searchable,
  shortened,
  signed,
} from "./computing.js";
import { about, list, nSystems, order, outcomeOf, whole } from "./base.js";
import { facts, follow, change, view } from "./view.js";

const table = byId("question-table");
const filter = (name) => byId(`filter-${name}`);
const texts = lazily(() => searchable({ ...list, tag_names: about.tag_names }));
const shown = { page: 0, rows: [], heads: "", asked: "" };

export const rowsOfTable = () => shown.rows;

// Rows -----------------------------------------------------------------------------------------------------------

function fittingRows() {
  return fitting(
    {
      n: list.n,
      tags: list.tags,
      texts,
      stage: (q) => list.stage(view.system, q),
      status: (q) => list.status(view.system, q),
      answer: (q) => list.answer(view.system, q),
    },
    view,
  );
}

const differs = () => view.systems.length === 2;
const spreadOf = (question) => difference(view.systems.map((s) => list.columns[view.measure ?? 0].value(s, question)));

// What a column of the table is sorted by.
function sortKey(column) {
  if (column === "id") return (q) => q;
  if (column === "spread") return spreadOf;
  if (column === "outcome") return (q) => list.stage(view.system, q);
  const [measure, system] = column.split("/").map(Number);
  return (q) => list.columns[measure].value(system, q);
}

function row(question) {
  const tags = list.tags[question].map((tag) => element("span", { class: "tag" }, about.tag_names[tag]));
  const query = list.queries[question];
  const name = element(
    "th",
    { scope: "row" },
    element(
      "button",
      { class: "plain", type: "button", "data-question": question },
      shortened(query || list.ids[question], 160),
    ),
    element("small", {}, query ? element("span", { class: "tag id" }, list.ids[question]) : null, ...tags),
  );
  return element("tr", { "aria-current": view.question === question ? "true" : null }, name, ...columnsOf(view, facts).map((column) => cell(column, question)));
}

function cell(key, question) {
  if (key === "outcome") return element("td", { class: "text" }, outcomeOf(view.system, question));
  const value = sortKey(key)(question);
  if (key === "spread") {
    const text = list.columns[view.measure ?? 0].text(value);
    return element("td", {}, differs() && value !== null ? signed(text) : text);
  }
  const column = list.columns[Number(key.split("/")[0])];
  const item = element("td", { class: "value" }, column.text(value));
  const top = column.top();
  if (value !== null && top > 0) item.style.setProperty("--share", Math.max(0, Math.min(1, value / top)));
  return item;
}

// The row of the question that is shown in full.
export function showCurrentRow() {
  for (const button of table.tBodies[0].querySelectorAll("[data-question]")) {
    const line = button.closest("tr");
    if (Number(button.dataset.question) === view.question) {
      line.setAttribute("aria-current", "true");
      line.scrollIntoView({ block: "nearest" });
    } else line.removeAttribute("aria-current");
  }
}

// Heads ----------------------------------------------------------------------------------------------------------

function headName(key) {
  if (key === "id") return [say("head.question")];
  if (key === "outcome") return [nSystems > 1 ? say("head.outcome_of", { system: about.systems[view.system] }) : say("head.outcome")];
  if (key === "spread") {
    const [first, second] = view.systems.map((s) => about.systems[s]);
    return [differs() ? say("head.difference", { first, second }) : say("head.spread")];
  }
  const [measure, system] = key.split("/").map(Number);
  if (nSystems === 1) return [about.measures[measure]];
  const several = view.measure === null && about.measures.length > 1;
  return [about.systems[system], several ? element("small", {}, about.measures[measure]) : null];
}

function head(key) {
  const button = element("button", { type: "button" }, ...headName(key));
  return element("th", { scope: "col", class: key === "outcome" ? "text" : null, "data-column": key }, button);
}

// Heads stay as they are while the columns do: one of them may have the focus.
function showHeads() {
  const keys = ["id", ...columnsOf(view, facts)];
  const heads = `${keys} ${view.system}`;
  if (heads !== shown.heads) table.tHead.rows[0].replaceChildren(...keys.map(head));
  shown.heads = heads;
  for (const item of table.tHead.rows[0].cells) {
    const own = item.dataset.column === view.sort.column;
    item.setAttribute("aria-sort", own ? (view.sort.down ? "descending" : "ascending") : "none");
  }
}

// Showing --------------------------------------------------------------------------------------------------------

function showRows() {
  const { number, last, begin, rows } = pageOf(shown.rows, shown.page);
  shown.page = number;
  table.tBodies[0].replaceChildren(...rows.map(row));
  byId("shown").textContent = rows.length
    ? say("shown", {
        from: whole.format(begin + 1),
        to: whole.format(begin + rows.length),
        total: whole.format(shown.rows.length),
        all: whole.format(list.n),
      })
    : say("none");
  byId("before").disabled = number === 0;
  byId("after").disabled = number === last;
}

function showFilters() {
  const values = { search: view.search, tag: view.tag, outcome: view.outcome, system: view.system, measure: view.measure ?? "" };
  for (const [name, value] of Object.entries(values)) {
    if (filter(name) && filter(name).value !== String(value)) filter(name).value = value;
  }
  for (const box of document.querySelectorAll("#columns input")) {
    box.checked = box.name === "system" ? view.systems.includes(Number(box.value)) : !view.hidden.includes(box.value);
  }
}

function show() {
  const asked = JSON.stringify({ ...view, question: null, pair: null });
  if (asked === shown.asked) return;
  shown.asked = asked;
  shown.page = 0;
  shown.rows = ordered(fittingRows(), sortKey(view.sort.column), view.sort.down);
  showFilters();
  showHeads();
  showRows();
}

// The table as rows of a file: every page of it, with ids and tags apart.
function rowsOfFile() {
  const keys = columnsOf(view, facts);
  const named = (key) => {
    const [measure, system] = key.split("/");
    return key.includes("/") ? `${about.measures[measure]} ${about.systems[system]}` : key;
  };
  const rows = shown.rows.map((q) => [
    list.ids[q],
    list.queries[q],
    list.tags[q].map((tag) => about.tag_names[tag]).join(" "),
    ...keys.map((key) => cell(key, q).textContent.replace("–", "")),
  ]);
  return [["query_id", "query", "tags", ...keys.map(named)], ...rows];
}

// Choosing -------------------------------------------------------------------------------------------------------

function startFilters() {
  let waiting = 0;
  let typing = false;
  const search = () => {
    clearTimeout(waiting);
    if (filter("search").value !== view.search) change({ search: filter("search").value }, { quietly: typing });
    typing = true;
  };
  filter("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  filter("search").addEventListener("change", () => {
    search();
    typing = false;
  });
  for (const name of ["tag", "outcome"]) {
    filter(name)?.addEventListener("change", (event) => change({ [name]: event.target.value }));
  }
  filter("system")?.addEventListener("change", (event) => change({ system: Number(event.target.value) }));
  filter("measure")?.addEventListener("change", (event) => {
    const measure = event.target.value === "" ? null : Number(event.target.value);
    change({ measure, sort: followed(view.sort, measure) });
  });
  byId("reset").addEventListener("click", () => change({ search: "", tag: "", outcome: "" }));
}

function startColumns() {
  const chooser = byId("columns");
  if (!chooser) return;
  const boxes = (name) => [...chooser.querySelectorAll(`input[name="${name}"]`)];
  chooser.addEventListener("change", () => {
    const systems = boxes("system").filter((box) => box.checked);
    const hidden = boxes("further").filter((box) => !box.checked);
    change({ systems: systems.map((box) => Number(box.value)), hidden: hidden.map((box) => box.value) });
  });
  byId("all-systems")?.addEventListener("click", () => change({ systems: [...order] }));
  byId("no-systems")?.addEventListener("click", () => change({ systems: [] }));
}

export function startTable() {
  startFilters();
  startColumns();
  table.tHead.addEventListener("click", (event) => {
    const column = event.target.closest("th")?.dataset.column;
    if (column) change({ sort: reordered(view.sort, column) });
  });
  table.tBodies[0].addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (!line || String(getSelection())) return;
    // Two systems that are picked out of several are the ones to compare.
    const picked = differs() && nSystems > 2 ? { pair: view.systems } : {};
    change({ question: Number(line.querySelector("button").dataset.question), ...picked });
  });
  const leaf = (pages) => {
    shown.page += pages;
    showRows();
    table.closest(".scroll").scrollTop = 0;
  };
  byId("before").addEventListener("click", () => leaf(-1));
  byId("after").addEventListener("click", () => leaf(1));
  offer(byId("shown").parentElement, "CSV", () => "questions.csv", () => csvFile(rowsOfFile()));
  follow(show);
}
