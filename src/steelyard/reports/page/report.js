// What the page does at the start, and its charts.  Data from outside is only ever put into the page as text.  The page
// holds this and its other modules as one classic script.
import { cornerOf, offer } from "../html/downloads.js";
import { byId, element } from "../html/elements.js";
import { followLight, held, isDark, lifetime, say } from "../html/shell.js";
import { fileName } from "../html/texts.js";
import { fewer, fitted, lazily, pairs, systemsOf } from "./computing.js";
import { about, list, whole } from "./base.js";
import { startDialog } from "./dialog.js";
import { foldBelow, startSystems } from "./systems.js";
import { startTable } from "./table.js";
import { change, view } from "./view.js";

// Charts -------------------------------------------------------------------------------------------------------

const specs = lazily(() => held("specs"));
const configs = lazily(() => held("configs"));

// Of charts in files and on paper.
const FILE_WIDTH = 640;

class Chart {
  constructor(figure) {
    this.plot = figure.querySelector(".plot");
    this.name = figure.dataset.chart;
    this.drawn = false;
    this.turn = 0;
    this.change = (spec) => spec;
    this.shown = {};
    this.description = figure.querySelector("figcaption .alternative");
    foldBelow(this.plot, systemsOf(specs()[this.name]).length, (folded) => {
      this.folded = folded;
      if (this.drawn) this.draw();
    });
    const measure = figure.querySelector("select[data-measure-of]");
    const file = () => fileName(this.name.split("/")[0], measure?.selectedOptions[0].text);
    const corner = cornerOf(this.plot);
    offer(corner, "SVG", () => `${file()}.svg`, () => this.image((chart) => chart.toSVG()));
    offer(corner, "PNG", () => `${file()}.png`, () => this.image(drawing));
  }

  spec() {
    const spec = this.change(structuredClone(specs()[this.name]));
    return this.folded ? fewer(spec, about.baseline) : spec;
  }

  // The chart by itself: with its title, on white, as wide as charts of files are.
  async image(take) {
    const spec = this.spec();
    delete spec.autosize;
    if (spec.width === "container") spec.width = FILE_WIDTH;
    const config = { ...configs().light, background: "white" };
    const embedding = await window.vegaEmbed(element("div"), spec, { actions: false, ast: true, config });
    try {
      return await take(embedding.view);
    } finally {
      embedding.finalize();
    }
  }

  async draw(config = configs()[isDark() ? "dark" : "light"], width = 0) {
    this.drawn = true;
    const room = width || this.plot.clientWidth;
    const spec = fitted(this.spec(), room);
    // Names leave most of a narrow page to what is drawn, and stay beside it.
    const titleLimit = typeof spec.width === "number" ? spec.width : room;
    const axis = { ...config.axis, labelLimit: Math.min(config.axis.labelLimit, room / 3), titleLimit };
    if (width && spec.width === "container") spec.width = width;
    delete spec.title;
    if (this.description && spec.description) this.description.textContent = spec.description;
    const turn = ++this.turn;
    const height = this.plot.offsetHeight;
    this.plot.style.minHeight = `${height}px`;
    const embedding = await window.vegaEmbed(this.plot, spec, {
      actions: false,
      renderer: "svg",
      ast: true,
      config: { ...config, axis },
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
    if (turn !== this.turn) return embedding.finalize();
    this.plot.style.minHeight = "";
    if (this.view) this.view.finalize();
    this.view = embedding;
    embedding.view.addEventListener("click", (_, item) => {
      const question = item?.datum?.q;
      if (typeof question === "number") change({ question, ...this.shown });
    });
    return undefined;
  }
}

// PNG at twice the size.
async function drawing(chart) {
  const canvas = await chart.toCanvas(2);
  return new Promise((done) => {
    canvas.toBlob(done);
  });
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
  addEventListener("beforeprint", () => charts.forEach((chart) => chart.draw(configs().light, FILE_WIDTH)), lifetime());
  addEventListener("afterprint", () => charts.forEach((chart) => chart.draw()), lifetime());
  followLight(() => charts.filter((chart) => chart.drawn).forEach((chart) => chart.draw()));
}

for (const select of document.querySelectorAll("select[data-measure-of]")) {
  const chart = chartOf(select.dataset.measureOf);
  select.addEventListener("change", () => {
    chart.name = `${chart.name.split("/")[0]}/${select.value}`;
    chart.draw();
  });
}

function startScatter() {
  const across = byId("scatter-x");
  const up = byId("scatter-y");
  const chart = chartOf("scatter");
  if (!across || !chart) return;
  const summary = byId("scatter-said");
  const redraw = () => {
    const [x, y] = [Number(across.value), Number(up.value)];
    const column = list.columns[0];
    const { rows, above, below, even } = pairs(
      (q) => column.value(x, q),
      (q) => column.value(y, q),
      list.n,
    );
    const said = { across: about.systems[x], up: about.systems[y], above, below, even };
    const counts = { n: whole.format(list.n), total: whole.format(about.n_questions) };
    summary.textContent =
      list.n < about.n_questions ? say("scatter_said_of_sample", { ...said, ...counts }) : say("scatter_said", said);
    // A point opens to the lists of the two systems that it compares.
    chart.shown = { pair: [x, y] };
    chart.change = (spec) => {
      const dots = spec.layer[1];
      dots.data = { values: rows };
      for (const layer of spec.layer) {
        layer.encoding.x.title = about.systems[x];
        layer.encoding.y.title = about.systems[y];
      }
      return spec;
    };
    if (chart.drawn) chart.draw();
  };
  across.addEventListener("change", redraw);
  up.addEventListener("change", redraw);
  redraw();
}

startSystems();
startTable();
startDialog();
// Not again in another language, where the reader stays in place.
if (view.section && document.readyState === "loading") byId(view.section).scrollIntoView();
startScatter();
if (window.vegaEmbed) startCharts();
else addEventListener("load", startCharts, lifetime());
