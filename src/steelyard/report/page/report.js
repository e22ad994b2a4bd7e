// Everything that the page does: charts, the table of questions, and one question in full.  Data from outside is only
// ever put into the page as text.  The page holds `computing.js` and this as one classic script.
import {
  fitted,
  fitting,
  lazily,
  measureColumn,
  neighbours,
  offsets,
  ordered,
  pageOf,
  pairs,
  phrase,
  questionOf,
  reordered,
  searchable,
  shortened,
  spread,
  stretches,
  unpack,
} from "./computing.js";

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const data = read("data");
const words = read("words");
const root = document.documentElement;
const nSystems = data.systems.length;
const nQuestions = data.ids.length;

// Words and elements -------------------------------------------------------------------------------------------

const say = (key, values) => phrase(words, key, values);

function element(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") node.addEventListener("click", value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

const whole = new Intl.NumberFormat("en-US");

const columns = data.values.map((packed) => measureColumn(packed, nQuestions));
const statuses = unpack(data.status);
const stages = unpack(data.stage);
const lists = lazily(() => ({
  starts: offsets(unpack(data.list_n)),
  entry: unpack(data.list_entry),
  gain: unpack(data.list_gain),
}));
const order = data.order;

// Light and dark -----------------------------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
const themeButton = document.getElementById("theme");

function showTheme() {
  themeButton.textContent = say(isDark() ? "light" : "dark");
  for (const chart of charts) if (chart.drawn) chart.draw();
}

// Charts -------------------------------------------------------------------------------------------------------

const specs = lazily(() => read("specs"));
const configs = lazily(() => read("configs"));

class Chart {
  constructor(figure) {
    this.plot = figure.querySelector(".plot");
    this.name = figure.dataset.chart;
    this.drawn = false;
    this.turn = 0;
    this.change = (spec) => spec;
  }

  async draw(config = configs()[isDark() ? "dark" : "light"]) {
    this.drawn = true;
    const spec = fitted(this.change(structuredClone(specs()[this.name])), this.plot.clientWidth);
    const turn = ++this.turn;
    const height = this.plot.offsetHeight;
    this.plot.style.minHeight = `${height}px`;
    const embedding = await window.vegaEmbed(this.plot, spec, {
      actions: false,
      renderer: "svg",
      ast: true,
      config,
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
    if (turn !== this.turn) return embedding.finalize();
    this.plot.style.minHeight = "";
    if (this.view) this.view.finalize();
    this.view = embedding;
    embedding.view.addEventListener("click", (_, item) => {
      const question = item?.datum?.q;
      if (typeof question === "number") openQuestion(question);
    });
    return undefined;
  }
}

const charts = [...document.querySelectorAll("figure[data-chart]")].map((figure) => new Chart(figure));
const chartOf = (name) => charts.find((chart) => chart.name.split("/")[0] === name);

function startCharts() {
  if (!window.vegaEmbed) return;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        const chart = charts.find((other) => other.plot === entry.target);
        if (!chart.drawn) chart.draw();
      }
    },
    { rootMargin: "300px" },
  );
  for (const chart of charts) seen.observe(chart.plot);
  addEventListener("beforeprint", () => {
    for (const chart of charts) chart.draw(configs().light);
  });
  addEventListener("afterprint", () => {
    for (const chart of charts) chart.draw();
  });
}

for (const select of document.querySelectorAll("select[data-measure-of]")) {
  const chart = chartOf(select.dataset.measureOf);
  select.addEventListener("change", () => {
    chart.name = `${chart.name.split("/")[0]}/${select.value}`;
    chart.draw();
  });
}

function startScatter() {
  const across = document.getElementById("scatter-x");
  const up = document.getElementById("scatter-y");
  const chart = chartOf("scatter");
  if (!across || !chart) return;
  const said = document.getElementById("scatter-said");
  const redraw = () => {
    const [x, y] = [Number(across.value), Number(up.value)];
    const column = columns[0];
    const { rows, above, below, even } = pairs(
      (q) => column.value(x, q),
      (q) => column.value(y, q),
      nQuestions,
    );
    said.textContent = say("scatter_said", {
      across: data.systems[x],
      up: data.systems[y],
      above,
      below,
      even,
    });
    chart.change = (spec) => {
      const dots = spec.layer[1];
      dots.data = { values: rows };
      for (const layer of spec.layer) {
        layer.encoding.x.title = data.systems[x];
        layer.encoding.y.title = data.systems[y];
      }
      return spec;
    };
    if (chart.drawn) chart.draw();
  };
  across.addEventListener("change", redraw);
  up.addEventListener("change", redraw);
  redraw();
}

// The table of questions ---------------------------------------------------------------------------------------

const table = document.getElementById("question-table");
const state = { column: `s${order[0]}`, down: false, page: 0, rows: [] };
const filter = (name) => document.getElementById(`filter-${name}`);
const texts = lazily(() => searchable(data));

const measure = () => Number(filter("measure") ? filter("measure").value : 0);
const chosenSystem = () => Number(filter("system") ? filter("system").value : order[0]);

function spreadOf(question) {
  return spread(data.systems.map((_, s) => columns[measure()].value(s, question)));
}

function statusOf(system, question) {
  return statuses[system * nQuestions + question];
}

function stageOf(system, question) {
  return stages[system * nQuestions + question];
}

function fittingRows() {
  const system = chosenSystem();
  const questions = {
    n: nQuestions,
    tags: data.tags,
    texts,
    stage: (q) => stageOf(system, q),
    status: (q) => statusOf(system, q),
  };
  const value = (name) => (filter(name) ? filter(name).value : "");
  return fitting(questions, { search: value("search"), tag: value("tag"), outcome: value("stage") });
}

// What a column of the table is sorted by.
function sortKey(name) {
  const system = chosenSystem();
  const column = columns[measure()];
  if (name === "id") return (q) => q;
  if (name === "spread") return spreadOf;
  if (name === "stage") return (q) => stageOf(system, q);
  return (q) => column.value(Number(name.slice(1)), q);
}

function refresh() {
  state.page = 0;
  state.rows = ordered(fittingRows(), sortKey(state.column), state.down);
  showRows();
}

function showRows() {
  const { number, last, begin, rows } = pageOf(state.rows, state.page);
  state.page = number;
  table.tBodies[0].replaceChildren(...rows.map(row));
  for (const head of table.tHead.querySelectorAll("th[data-column]")) {
    const own = head.dataset.column === state.column;
    head.setAttribute("aria-sort", own ? (state.down ? "descending" : "ascending") : "none");
  }
  document.getElementById("shown").textContent = rows.length
    ? say("shown", {
        from: whole.format(begin + 1),
        to: whole.format(begin + rows.length),
        total: whole.format(state.rows.length),
        all: whole.format(nQuestions),
      })
    : say("none");
  document.getElementById("before").disabled = number === 0;
  document.getElementById("after").disabled = number === last;
}

function row(question, place) {
  const column = columns[measure()];
  const tags = data.tags[question].map((tag) => element("span", { class: "tag" }, data.tag_names[tag]));
  const named = data.queries[question] || data.ids[question];
  const name = element(
    "th",
    { scope: "row" },
    element("button", { class: "plain", type: "button", "data-question": question }, shortened(named, 160)),
    element(
      "small",
      {},
      data.queries[question] ? element("span", { class: "tag" }, data.ids[question]) : null,
      ...tags,
    ),
  );
  const cells = order.map((s) => {
    const value = column.value(s, question);
    const cell = element("td", { class: "value" }, column.text(value));
    const top = column.top();
    if (value !== null && top > 0) cell.style.setProperty("--share", Math.max(0, Math.min(1, value / top)));
    return cell;
  });
  if (nSystems > 1) {
    cells.push(element("td", {}, column.text(spreadOf(question))));
  }
  cells.push(element("td", { class: "text where" }, where(chosenSystem(), question)));
  return element("tr", { "data-place": place }, name, ...cells);
}

function where(system, question) {
  const status = statusOf(system, question);
  if (status) return say(`status.${status}`);
  return data.stage_names[stageOf(system, question)];
}

function startTable() {
  let waiting = 0;
  filter("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
  for (const name of ["tag", "stage", "system", "measure"]) {
    if (filter(name)) filter(name).addEventListener("change", refresh);
  }
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th[data-column]");
    if (!head) return;
    Object.assign(state, reordered(state, head.dataset.column));
    refresh();
  });
  table.tBodies[0].addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (line && !String(getSelection())) openQuestion(Number(line.querySelector("button").dataset.question));
  });
  document.getElementById("before").addEventListener("click", () => {
    state.page--;
    showRows();
  });
  document.getElementById("after").addEventListener("click", () => {
    state.page++;
    showRows();
  });
  document.getElementById("reset").addEventListener("click", () => {
    filter("search").value = "";
    for (const name of ["tag", "stage"]) if (filter(name)) filter(name).value = "";
    refresh();
  });
  refresh();
}

// One question in full -----------------------------------------------------------------------------------------

const dialog = document.getElementById("question");
let current = -1;

function openQuestion(question) {
  if (!(question >= 0 && question < nQuestions)) return;
  current = question;
  const [before, after] = neighbours(state.rows, question);
  document.getElementById("question-before").disabled = before === undefined;
  document.getElementById("question-after").disabled = after === undefined;
  document.getElementById("question-id").textContent = data.ids[question];
  const body = document.getElementById("question-body");
  body.replaceChildren(...details(question));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  for (const text of body.querySelectorAll(".text")) {
    const mark = text.querySelector("mark");
    if (mark) text.scrollTop = Math.max(0, mark.offsetTop - text.offsetTop - 24);
  }
}

function* details(question) {
  yield element("h2", { id: "question-title" }, data.queries[question] || data.ids[question]);
  if (data.tags[question].length) {
    yield element("p", {}, ...data.tags[question].map((tag) => element("span", { class: "tag" }, data.tag_names[tag])));
  }
  if (data.expected && data.expected[question] !== null) {
    yield element("h3", {}, say("expected"));
    yield element("p", { class: "expected" }, data.expected[question]);
  }
  yield element("h3", {}, say("gold"));
  yield goldList(question);
  yield element(
    "div",
    { class: "systems" },
    ...order.map((s, place) => systemDetails(s, question, place < 2 || nSystems < 5)),
  );
}

function goldList(question) {
  const pieces = data.gold[question];
  if (!pieces.length) return element("p", {}, say("no_gold"));
  const items = pieces.map(([kind, gain, group, name, place, text], i) => {
    const facts = [say(`kind.${kind}`, { name, place })];
    if (gain !== 1) facts.push(say("gain", { gain }));
    if (group !== null) facts.push(say("alternative", { group }));
    const missing = data.of.filter((of) => (of.lost[question] || []).includes(i)).length;
    if (missing) facts.push(say(missing === nSystems ? "lost_everywhere" : "lost_somewhere", { n: missing }));
    return element(
      "li",
      {},
      text === null ? null : element("q", {}, text),
      element("span", { class: "where" }, facts.join(say("separator"))),
    );
  });
  const more = data.gold_more[question];
  if (more) items.push(element("li", {}, say("gold_more", { n: more })));
  return element("ul", { class: "gold" }, ...items);
}

function systemDetails(s, question, open) {
  const of = data.of[s];
  const values = data.measures.map((name, j) =>
    element("span", {}, `${name} ${columns[j].text(columns[j].value(s, question))}`),
  );
  const block = element(
    "details",
    { class: "system", open },
    element("summary", {}, data.systems[s]),
    element("div", { class: "values" }, ...values),
  );
  const outcome = where(s, question);
  if (outcome) block.append(element("p", { class: "said" }, outcome));
  if (of.failures[question] !== undefined) {
    block.append(element("p", { class: "said lost" }, say("failure", { why: of.failures[question] })));
  }
  if (of.answers[question] !== undefined) {
    block.append(element("h3", {}, say("answer")));
    const answer = of.answers[question];
    block.append(element("div", { class: "answer" }, answer === null ? say("left_out") : answer));
  }
  block.append(ranked(s, question));
  return block;
}

function ranked(s, question) {
  const { starts, entry, gain } = lists();
  const list = s * nQuestions + question;
  const [begin, end] = [starts[list], starts[list + 1]];
  if (begin === end) return element("p", { class: "said" }, say(data.depth ? "nothing_retrieved" : "lists_left_out"));
  const items = [];
  for (let i = begin; i < end; i++) {
    if (data.k && i - begin === data.k) items.push(element("div", { class: "cut" }, say("below_k", { k: data.k })));
    items.push(chunk(i - begin + 1, entry[i], data.gains[gain[i]], s, question));
  }
  return element("ol", { class: "chunks" }, ...items);
}

function chunk(rank, entry, gain, s, question) {
  const isGold = gain !== null && gain > 0;
  const name = element("div", { class: "name" }, element("b", {}, data.chunk_ids[entry]));
  const doc = data.chunk_docs ? data.chunk_docs[entry] : -1;
  if (doc >= 0 && !data.chunk_ids[entry].startsWith(data.doc_names[doc]))
    name.append(element("span", {}, data.doc_names[doc]));
  if (isGold) name.append(element("span", {}, say("chunk_gain", { gain })));
  else if (gain === null && !data.of[s].evidence) name.append(element("span", {}, say("unjudged")));
  const item = element(
    "li",
    { class: isGold ? "is-gold" : null },
    element("span", { class: "rank" }, String(rank)),
    element("div", {}, name),
  );
  if (data.chunk_texts) {
    const text = data.chunk_texts[entry];
    const marks = data.marks[question]?.[entry] || [];
    item.lastChild.append(
      text === null
        ? element("p", { class: "text" }, say("left_out"))
        : element(
            "p",
            { class: "text", tabindex: text.length > 600 ? 0 : null },
            ...stretches(text, marks).map(([part, isMarked]) => (isMarked ? element("mark", {}, part) : part)),
          ),
    );
  }
  return item;
}

function startDialog() {
  // 0 is the question before the current one, 1 the one after it.
  const step = (side) => openQuestion(neighbours(state.rows, current)[side]);
  document.getElementById("question-before").addEventListener("click", () => step(0));
  document.getElementById("question-after").addEventListener("click", () => step(1));
  document.getElementById("question-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.closest(".text")) return;
    if (event.key === "ArrowLeft") step(0);
    if (event.key === "ArrowRight") step(1);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-question]");
    if (!link) return;
    event.preventDefault();
    openQuestion(Number(link.dataset.question));
  });
  const fromAddress = () => {
    const question = questionOf(location.hash);
    if (question !== null) openQuestion(question);
  };
  addEventListener("hashchange", fromAddress);
  fromAddress();
}

// Where the reader is ------------------------------------------------------------------------------------------

function startNavigation() {
  const links = [...document.querySelectorAll(".bar nav a")];
  const targets = links.map((link) => document.getElementById(link.hash.slice(1)));
  const show = () => {
    let now = 0;
    for (const [i, target] of targets.entries()) if (target.getBoundingClientRect().top < innerHeight * 0.35) now = i;
    for (const [i, link] of links.entries()) link.setAttribute("aria-current", String(i === now));
  };
  let asked = false;
  addEventListener(
    "scroll",
    () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        show();
      });
    },
    { passive: true },
  );
  show();
}

themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
prefersDark.addEventListener("change", showTheme);
showTheme();
startTable();
startDialog();
startNavigation();
startScatter();
addEventListener("load", startCharts);
