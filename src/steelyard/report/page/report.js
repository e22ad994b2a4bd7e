"use strict";
// Everything that the page does: charts, the table of questions, and one question in full.  Data from outside is only
// ever put into the page as text.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  const words = read("words");
  const PAGE = 100;
  const NOTHING = 65535;
  const root = document.documentElement;
  const nSystems = data.systems.length;
  const nQuestions = data.ids.length;

  // Words and elements -------------------------------------------------------------------------------------------

  function say(key, values = {}) {
    let text = words[key];
    if (text === undefined) text = words[`${key}.${values.n === 1 ? "one" : "other"}`];
    return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  }

  function element(tag, options = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "onclick") made.addEventListener("click", value);
      else if (name === "class") made.className = value;
      else made.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children) if (child !== null && child !== undefined) made.append(child);
    return made;
  }

  const whole = new Intl.NumberFormat("en-US");

  // Packed columns -----------------------------------------------------------------------------------------------

  function bytes(text) {
    const plain = atob(text);
    const made = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i++) made[i] = plain.charCodeAt(i);
    return made;
  }

  function unpack(column) {
    const raw = bytes(column.data);
    if (column.bits === 8) return raw;
    return column.bits === 16 ? new Uint16Array(raw.buffer) : new Uint32Array(raw.buffer);
  }

  function lazily(make) {
    let made;
    return () => (made === undefined ? (made = make()) : made);
  }

  const columns = data.values.map((packed) => {
    const steps = lazily(() => new Uint16Array(bytes(packed.data).buffer));
    const size = 10 ** packed.decimals;
    const top = lazily(() => {
      let most = 0;
      for (const step of steps()) if (step !== NOTHING && step > most) most = step;
      return packed.low + most / size;
    });
    return {
      value: (system, question) => {
        const step = steps()[system * nQuestions + question];
        return step === NOTHING ? null : packed.low + step / size;
      },
      text: (value) => (value === null ? "–" : value.toFixed(Math.max(0, packed.decimals))),
      top,
    };
  });
  const statuses = unpack(data.status);
  const stages = unpack(data.stage);
  const lists = lazily(() => {
    const n = unpack(data.list_n);
    const starts = new Uint32Array(n.length + 1);
    for (let i = 0; i < n.length; i++) starts[i + 1] = starts[i] + n[i];
    return { starts, entry: unpack(data.list_entry), gain: unpack(data.list_gain) };
  });
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
      this.change = (spec) => spec;
    }

    async draw(config = configs()[isDark() ? "dark" : "light"]) {
      this.drawn = true;
      const spec = fitted(this.change(structuredClone(specs()[this.name])), this.plot.clientWidth);
      const turn = (this.turn = (this.turn || 0) + 1);
      const height = this.plot.offsetHeight;
      this.plot.style.minHeight = `${height}px`;
      const made = await window.vegaEmbed(this.plot, spec, {
        actions: false, renderer: "svg", ast: true, config, defaultStyle: false,
        tooltip: { disableDefaultStyle: true },
      });
      if (turn !== this.turn) return made.finalize();
      this.plot.style.minHeight = "";
      if (this.view) this.view.finalize();
      this.view = made;
      made.view.addEventListener("click", (_, item) => {
        const question = item && item.datum && item.datum.q;
        if (typeof question === "number") openQuestion(question);
      });
      return undefined;
    }
  }

  // Room is made for legends on narrow pages, and for squares.
  function fitted(spec, width) {
    if (typeof spec.width === "number") {
      spec.width = spec.height = Math.max(160, Math.min(spec.width, width - 80));
      return spec;
    }
    const size = (label) => [...label].reduce((sum, letter) => sum + (letter > "\u2e80" ? 13 : 7), 34);
    for (const layer of spec.layer || []) {
      const color = layer.encoding.color;
      if (!color || !color.scale || !color.scale.domain) continue;
      const widest = Math.max(...color.scale.domain.map(size));
      const total = color.scale.domain.reduce((sum, label) => sum + size(label), 0);
      if (total > width - 110) color.legend = { columns: Math.max(1, Math.floor((width - 110) / widest)) };
    }
    return spec;
  }

  const charts = [...document.querySelectorAll("figure[data-chart]")].map((figure) => new Chart(figure));
  const chartOf = (name) => charts.find((chart) => chart.name.split("/")[0] === name);

  function startCharts() {
    if (!window.vegaEmbed) return;
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        const chart = charts.find((each) => each.plot === entry.target);
        if (!chart.drawn) chart.draw();
      }
    }, { rootMargin: "300px" });
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
      const found = points(x, y);
      said.textContent = say("scatter_said", {
        across: data.systems[x], up: data.systems[y], above: found.above, below: found.below, even: found.even,
      });
      chart.change = (spec) => {
        const dots = spec.layer[1];
        dots.data = { values: found.rows };
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

  function points(x, y) {
    const at = new Map();
    let above = 0, below = 0, even = 0;
    for (let q = 0; q < nQuestions; q++) {
      const a = columns[0].value(x, q);
      const b = columns[0].value(y, q);
      if (a === null || b === null) continue;
      if (b > a) above++; else if (b < a) below++; else even++;
      const key = `${a.toFixed(3)} ${b.toFixed(3)}`;
      const known = at.get(key);
      if (known) known.n++;
      else at.set(key, { x: a, y: b, n: 1, q });
    }
    return { rows: [...at.values()], above, below, even };
  }

  // The table of questions ---------------------------------------------------------------------------------------

  const table = document.getElementById("question-table");
  const state = { column: `s${order[0]}`, down: false, page: 0, rows: [] };
  const filter = (name) => document.getElementById(`filter-${name}`);
  const haystack = lazily(() => data.ids.map((id, q) => {
    const tags = data.tags[q].map((tag) => data.tag_names[tag]).join(" ");
    return `${id} ${data.queries[q] || ""} ${tags}`.toLowerCase();
  }));

  const measure = () => Number(filter("measure") ? filter("measure").value : 0);
  const chosenSystem = () => Number(filter("system") ? filter("system").value : order[0]);

  function spread(question) {
    const column = columns[measure()];
    let low = Infinity, high = -Infinity;
    for (let s = 0; s < nSystems; s++) {
      const value = column.value(s, question);
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return high < low ? null : high - low;
  }

  function stageOf(system, question) {
    return stages[system * nQuestions + question];
  }

  function chosen() {
    const wanted = filter("search").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const tag = filter("tag") ? filter("tag").value : "";
    const stage = filter("stage") ? filter("stage").value : "";
    const system = chosenSystem();
    const made = [];
    for (let q = 0; q < nQuestions; q++) {
      if (tag !== "" && !data.tags[q].includes(Number(tag))) continue;
      if (stage.startsWith("stage:") && stageOf(system, q) !== Number(stage.slice(6))) continue;
      if (stage.startsWith("status:") && statuses[system * nQuestions + q] !== Number(stage.slice(7))) continue;
      if (wanted.length && !wanted.every((word) => haystack()[q].includes(word))) continue;
      made.push(q);
    }
    return made;
  }

  function sorted(rows) {
    const sign = state.down ? -1 : 1;
    if (state.column === "id") return state.down ? rows.reverse() : rows;
    const column = columns[measure()];
    const keys = new Float64Array(nQuestions);
    for (const q of rows) {
      const key = state.column === "spread" ? spread(q)
        : state.column === "stage" ? stageOf(chosenSystem(), q)
        : column.value(Number(state.column.slice(1)), q);
      keys[q] = key === null ? Infinity : sign * key;
    }
    return rows.sort((a, b) => keys[a] - keys[b] || a - b);
  }

  function refresh() {
    state.page = 0;
    state.rows = sorted(chosen());
    showRows();
  }

  function showRows() {
    const pages = Math.max(1, Math.ceil(state.rows.length / PAGE));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const begin = state.page * PAGE;
    const shown = state.rows.slice(begin, begin + PAGE);
    table.tBodies[0].replaceChildren(...shown.map(row));
    for (const head of table.tHead.querySelectorAll("th[data-column]")) {
      const own = head.dataset.column === state.column;
      head.setAttribute("aria-sort", own ? (state.down ? "descending" : "ascending") : "none");
    }
    document.getElementById("shown").textContent = shown.length
      ? say("shown", { from: whole.format(begin + 1), to: whole.format(begin + shown.length),
        total: whole.format(state.rows.length), all: whole.format(nQuestions) })
      : say("none");
    document.getElementById("before").disabled = state.page === 0;
    document.getElementById("after").disabled = state.page >= pages - 1;
  }

  function row(question, place) {
    const column = columns[measure()];
    const tags = data.tags[question].map((tag) => element("span", { class: "tag" }, data.tag_names[tag]));
    const named = data.queries[question] || data.ids[question];
    const name = element("th", { scope: "row" },
      element("button", { class: "plain", type: "button", "data-question": question }, shortened(named, 160)),
      element("small", {}, data.queries[question] ? element("span", { class: "tag" }, data.ids[question]) : null, ...tags));
    const cells = order.map((s) => {
      const value = column.value(s, question);
      const cell = element("td", { class: "value" }, column.text(value));
      const top = column.top();
      if (value !== null && top > 0) cell.style.setProperty("--share", Math.max(0, Math.min(1, value / top)));
      return cell;
    });
    if (nSystems > 1) {
      const far = spread(question);
      cells.push(element("td", {}, column.text(far)));
    }
    cells.push(element("td", { class: "text where" }, where(chosenSystem(), question)));
    const made = element("tr", { "data-place": place }, name, ...cells);
    return made;
  }

  function where(system, question) {
    const status = statuses[system * nQuestions + question];
    if (status) return say(`status.${status}`);
    return data.stage_names[stageOf(system, question)];
  }

  function shortened(text, size) {
    const line = text.replace(/\s+/g, " ");
    return line.length <= size ? line : `${line.slice(0, size - 1)}…`;
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
      const column = head.dataset.column;
      state.down = state.column === column ? !state.down : column === "spread";
      state.column = column;
      refresh();
    });
    table.tBodies[0].addEventListener("click", (event) => {
      const line = event.target.closest("tr");
      if (line && !String(getSelection())) openQuestion(Number(line.querySelector("button").dataset.question));
    });
    document.getElementById("before").addEventListener("click", () => { state.page--; showRows(); });
    document.getElementById("after").addEventListener("click", () => { state.page++; showRows(); });
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
    const at = state.rows.indexOf(question);
    document.getElementById("question-before").disabled = at <= 0;
    document.getElementById("question-after").disabled = at < 0 || at >= state.rows.length - 1;
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
    yield element("div", { class: "systems" }, ...order.map((s, place) => system(s, question, place < 2 || nSystems < 5)));
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
      return element("li", {}, text === null ? null : element("q", {}, text),
        element("span", { class: "where" }, facts.join(say("separator"))));
    });
    const more = data.gold_more[question];
    if (more) items.push(element("li", {}, say("gold_more", { n: more })));
    return element("ul", { class: "gold" }, ...items);
  }

  function system(s, question, open) {
    const of = data.of[s];
    const values = data.measures.map((name, j) => element("span", {}, `${name} ${columns[j].text(columns[j].value(s, question))}`));
    const made = element("details", { class: "system", open },
      element("summary", {}, data.systems[s]),
      element("div", { class: "values" }, ...values));
    const said = where(s, question);
    if (said) made.append(element("p", { class: "said" }, said));
    if (of.failures[question] !== undefined) {
      made.append(element("p", { class: "said lost" }, say("failure", { why: of.failures[question] })));
    }
    if (of.answers[question] !== undefined) {
      made.append(element("h3", {}, say("answer")));
      const answer = of.answers[question];
      made.append(element("div", { class: "answer" }, answer === null ? say("left_out") : answer));
    }
    made.append(ranked(s, question));
    return made;
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
    if (doc >= 0 && !data.chunk_ids[entry].startsWith(data.doc_names[doc])) name.append(element("span", {}, data.doc_names[doc]));
    if (isGold) name.append(element("span", {}, say("chunk_gain", { gain })));
    else if (gain === null && !data.of[s].evidence) name.append(element("span", {}, say("unjudged")));
    const made = element("li", { class: isGold ? "is-gold" : null },
      element("span", { class: "rank" }, String(rank)), element("div", {}, name));
    if (data.chunk_texts) {
      const text = data.chunk_texts[entry];
      const marks = (data.marks[question] || {})[entry] || [];
      made.lastChild.append(text === null
        ? element("p", { class: "text" }, say("left_out"))
        : element("p", { class: "text", tabindex: text.length > 600 ? 0 : null }, ...marked(text, marks)));
    }
    return made;
  }

  // Offsets count code points, as Python does; strings of this language count halves of some of them.
  function marked(text, marks) {
    if (!marks.length) return [text];
    const points = Array.from(text);
    const parts = [];
    let at = 0;
    for (let i = 0; i < marks.length; i += 2) {
      parts.push(points.slice(at, marks[i]).join(""));
      parts.push(element("mark", {}, points.slice(marks[i], marks[i + 1]).join("")));
      at = marks[i + 1];
    }
    parts.push(points.slice(at).join(""));
    return parts;
  }

  function startDialog() {
    const step = (by) => {
      const at = state.rows.indexOf(current) + by;
      if (at >= 0 && at < state.rows.length) openQuestion(state.rows[at]);
    };
    document.getElementById("question-before").addEventListener("click", () => step(-1));
    document.getElementById("question-after").addEventListener("click", () => step(1));
    document.getElementById("question-close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("keydown", (event) => {
      if (event.target.closest(".text")) return;
      if (event.key === "ArrowLeft") step(-1);
      if (event.key === "ArrowRight") step(1);
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-question]");
      if (!link) return;
      event.preventDefault();
      openQuestion(Number(link.dataset.question));
    });
    const fromAddress = () => {
      const found = /^#question-(\d+)$/.exec(location.hash);
      if (found) openQuestion(Number(found[1]));
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
      targets.forEach((target, i) => { if (target.getBoundingClientRect().top < innerHeight * 0.35) now = i; });
      links.forEach((link, i) => link.setAttribute("aria-current", String(i === now)));
    };
    let asked = false;
    addEventListener("scroll", () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; show(); });
    }, { passive: true });
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
})();
