// The form: what it adds to the bar, its items one at a time, and its keys.
import { byId, element } from "../html/elements.js";
import { goOnWith, say } from "../html/shell.js";
import { form, keyed, named, source, visible, worded } from "./base.js";
import { choiceOf, choicesOf, countsOf, nextOpen, nextPlace, quoteOf, withQuote } from "./computing.js";
import {
  asked, currentChoice, cursor, judgedOf, meanings, opinionsOf, quoteList, readingOf, scrollTexts, selected, sentenceOf, showCandidate,
  stepSentence, waits,
} from "./item.js";
import {
  close, decide, decisionAt, followOthers, isOpen, keepWork, nUnfiled, note, open, raterBefore, save, undo, work,
} from "./keeping.js";
import { loaded, loading, startPage } from "./start.js";

const n = form.items.length;
const choices = choicesOf(form);
const hasJudge = form.items.some(({ isJudged }) => isJudged);
const NOTHING = () => "";
let notice = NOTHING;

// The item that is shown; another one may be on its way.
const shown = { place: null, item: null };

// Fetch the item of the current place; false where the reader has gone on meanwhile.
async function load() {
  const { place, rater } = work;
  const item = await source.question(place);
  if (place !== work.place || rater !== work.rater) return false;
  Object.assign(shown, { place, item });
  return true;
}

function announce(text) {
  byId("status").textContent = text;
}

function begin(text = NOTHING) {
  notice = text;
  render();
  byId("reading").focus({ preventScroll: true });
  announce(say("item", { n: work.place + 1, of: n }));
}

// The page of an item ----------------------------------------------------------------------------------------------

function* bar() {
  yield element("h1", { dir: "auto" }, worded(form.title));
  yield element("div", { class: "row" },
    element("span", { class: "rater" }, visible(form.rater ? say("adjudication") : work.rater)),
    form.rater ? null : element("button", { type: "button", class: "quiet", onclick: () => { close(); render(); } }, say("other_rater")),
    loading(say("load"), (file) => { notice = loaded(file); show(); }),
    keyed(say("save"), "Ctrl+S", saveFile, { class: "first", id: "save", "aria-keyshortcuts": "Control+S" }),
  );
  yield element("div", { class: "row" },
    element("progress", { id: "progress", max: n, "aria-label": say("progress") }),
    element("span", { id: "counts" }), element("span", { id: "kept", class: "about" }),
  );
  yield element("p", { id: "notice", class: "notice", role: "status" });
  const items = form.items.map((_, place) => element("li", {}, element("button", { type: "button", onclick: () => goTo(place) }, String(place + 1))));
  yield element("ol", { id: "items", "aria-label": say("items") }, ...items);
}

// Where words of a scale are long, its buttons show the grades alone, and the words are listed below.
const BRIEF = 14;
const isBrief = form.scale.some(([, word]) => (typeof word === "string" ? [word] : Object.values(word)).some((text) => text.length > BRIEF));

function choiceLabel({ name, word }) {
  if (word === undefined) return say(`choice.${name}`);
  return element("span", {}, name, word && element("span", { class: isBrief ? "alternative" : null }, ` ${worded(word)}`));
}

function choiceButtons() {
  const buttons = choices.map((choice) => {
    const { name, word } = choice;
    const keys = choice.keys.join(" ");
    const options = {
      class: `choice ${word === undefined ? name : keys === name ? "same" : ""}`,
      title: (word === undefined ? say(`meaning.${name}`) : worded(word)) || null,
      "data-choice": name,
    };
    return keyed(choiceLabel(choice), keys, () => choose(choice), options);
  });
  const kind = `choices ${form.kind}${isBrief ? " brief" : ""}`;
  return element("div", { class: kind, role: "group", "aria-labelledby": "ask" }, ...buttons);
}

function scaleWords() {
  const rows = form.scale.filter(([, word]) => word);
  const cells = rows.flatMap(([grade, word]) => [element("dt", {}, String(grade)), element("dd", { dir: "auto" }, worded(word))]);
  return isBrief ? element("dl", { class: "meanings scale" }, ...cells) : null;
}

function option(name, label, key) {
  const box = element("input", { type: "checkbox", id: name });
  box.checked = work[name];
  box.addEventListener("change", () => {
    work[name] = box.checked;
    keepWork();
    show();
  });
  return element("label", { class: "option" }, box, label, key && element("kbd", { "aria-hidden": "true" }, key));
}

function dock() {
  const quoting = form.kind === "quotes" ? keyed(say("add_quote"), "q", addQuote, { class: "first", id: "add" }) : null;
  return element("section", { class: "dock", "aria-label": say("decide") },
    element("p", { id: "ask" }), element("blockquote", { id: "sentence", dir: "auto" }),
    element("div", { id: "opinions" }), quoting, choiceButtons(), scaleWords(), element("div", { id: "quotes" }),
    element("div", { class: "row way" },
      keyed(say("before"), "k", () => move(-1), { id: "before" }),
      element("span", { id: "place" }),
      keyed(say("after"), "j", () => move(1), { id: "after" }),
      keyed(say("next_open"), "↵", toOpen, { id: "next-open", "aria-keyshortcuts": "Enter" }),
      keyed(say("undo"), "u", takeBack, { id: "undo" }),
    ),
    element("div", { id: "judged" }),
  );
}

function rest() {
  const area = element("textarea", { id: "note", rows: 2, dir: "auto" });
  area.addEventListener("input", () => { note(work.place, area.value); showBar(); });
  return element("section", { class: "rest", "aria-label": say("more") },
    element("label", { class: "noting" }, element("span", {}, say("note"), " ", element("kbd", { "aria-hidden": "true" }, "m")), area),
    element("div", { class: "options" },
      option("showsOpen", say("only_open"), "/"),
      hasJudge ? option("showsJudge", say("show_judge"), "v") : null,
      option("hasKeys", say("keys"), ""),
    ),
    element("details", {}, element("summary", {}, say("help")), element("dl", { class: "meanings" }, ...meanings(), ...keyList())),
  );
}

function* keyList() {
  const rows = [
    ["k j ← →", "way"], ["↵", "next_open"], ["u", "undo"], ["m Esc", "note"], ["/", "only_open"], ["f", "candidate"],
    ["v", "show_judge"], ["Ctrl+S", "save"],
  ];
  if (form.kind === "quotes") rows.push(["↑ ↓", "sentences"], ["⇧↑ ⇧↓", "extend"], ["q", "add_quote"], ["x", "remove_last"]);
  for (const [keys, what] of rows) {
    yield element("dt", {}, ...keys.split(" ").flatMap((key) => [element("kbd", {}, key), " "]));
    yield element("dd", {}, say(what));
  }
}

// Showing ----------------------------------------------------------------------------------------------------------

function showBar() {
  const counts = countsOf(form.items, work.decisions);
  const left = counts.get("open");
  byId("progress").value = n - left;
  byId("progress").textContent = say("done_of", { n: n - left, of: n });
  const names = [...choices.map(({ name }) => name), "quotes"].filter((name) => counts.get(name));
  const chips = names.map((name) => {
    const isGrade = choices.some((choice) => choice.name === name && choice.word !== undefined);
    const label = isGrade ? `${name} ×` : named(name, choices);
    return element("span", { class: `pill ${isGrade ? "" : name}` }, `${label} `, element("b", {}, String(counts.get(name))));
  });
  byId("counts").replaceChildren(element("b", {}, say("done_of", { n: n - left, of: n })), ...chips);
  const waiting = nUnfiled();
  const about = [work.isKept ? say("kept") : say("not_kept"), waiting ? say("unfiled", { n: waiting }) : work.filed && say("saved")];
  byId("kept").replaceChildren(about.filter(Boolean).join(say("between")));
  byId("kept").classList.toggle("problem", !work.isKept);
  byId("notice").textContent = notice() || (left ? "" : say(waiting ? "all_done" : "all_filed") + (hasJudge ? say("judge_shown") : ""));
  showItems();
  byId("page").style.setProperty("--bar", `${byId("own").parentElement.offsetHeight}px`);
}

function showItems() {
  for (const [place, { firstChild: button }] of [...byId("items").children].entries()) {
    const choice = choiceOf(decisionAt(place));
    const label = `${say("item", { n: place + 1, of: n })} ${named(choice ?? "open", choices)}`;
    if (button.title !== label) Object.assign(button, { title: label, ariaLabel: label, className: choice ? `decided ${choice}` : "" });
    button.ariaCurrent = String(place === work.place);
  }
}

function showDock(item) {
  byId("ask").textContent = asked(item, "ask");
  byId("sentence").replaceChildren(...sentenceOf(item));
  byId("sentence").hidden = !item.hypothesis;
  byId("opinions").replaceChildren(...opinionsOf(item));
  byId("judged").replaceChildren(...judgedOf(item, decisionAt(work.place)));
  const current = currentChoice(work.place);
  for (const button of byId("form").querySelectorAll("[data-choice]"))
    button.setAttribute("aria-pressed", String(button.dataset.choice === current));
  if (form.kind === "quotes") byId("quotes").replaceChildren(quoteList(work.place, removeQuote));
  byId("place").textContent = `${work.place + 1} / ${n}`;
  byId("before").disabled = nextPlace(n, work.place, -1, fits) === null;
  byId("after").disabled = nextPlace(n, work.place, 1, fits) === null;
  byId("undo").disabled = !work.history.length;
  byId("next-open").disabled = nextOpen(n, work.place, isOpen) === null;
}

// The item again, after something about it has changed.
function show() {
  const { item } = shown;
  if (item === null) return;
  showBar();
  showDock(item);
  if (form.kind === "quotes" || item.likely.length) showReading(item);
  for (const name of ["showsOpen", "showsJudge", "hasKeys"]) if (byId(name)) byId(name).checked = work[name];
  if (document.activeElement !== byId("note")) byId("note").value = decisionAt(work.place)?.note ?? "";
}

function showReading(item) {
  byId("reading").replaceChildren(...readingOf(item, decisionAt(work.place)));
  scrollTexts(byId("reading"));
}

async function render() {
  const area = byId("form");
  area.className = work.rater ? "work" : "start";
  byId("own").replaceChildren(...(work.rater ? bar() : []));
  if (!work.rater) {
    area.replaceChildren(...startPage(begin));
    byId("rater").focus();
    return;
  }
  area.replaceChildren(
    element("article", { id: "reading", tabindex: "-1", "aria-label": say("item_label") }),
    element("div", { class: "side" }, dock(), rest()),
  );
  if (!(await load())) return;
  showReading(shown.item);
  show();
}

// Moving and deciding ----------------------------------------------------------------------------------------------

const fits = (place) => !work.showsOpen || isOpen(place);

async function goTo(place) {
  if (place === null) return;
  work.place = place;
  if (!(await load())) return;
  cursor.at = null;
  notice = NOTHING;
  keepWork();
  showReading(shown.item);
  byId("note").value = decisionAt(place)?.note ?? "";
  show();
  scrollTo(0, 0);
  byId("reading").scrollTop = 0;
  const mark = byId("reading").querySelector("mark.candidate");
  if (mark && byId("reading").scrollHeight > byId("reading").clientHeight) mark.scrollIntoView({ block: "nearest" });
  announce(`${say("item", { n: place + 1, of: n })} ${visible(shown.item.hypothesis || shown.item.query)}`);
}

const move = (step) => goTo(nextPlace(n, work.place, step, fits));
const toOpen = () => goTo(nextOpen(n, work.place, isOpen));

function choose(choice) {
  // Nothing is decided about an item that is still on its way.
  if (shown.place !== work.place) return;
  const wasOpen = isOpen(work.place);
  decide(work.place, choice.decision);
  afterDecision(wasOpen && !waits(shown.item));
}

// On to what is not decided yet, unless there is something to be read first, or an old decision was changed.
async function afterDecision(goesOn) {
  const next = goesOn ? nextOpen(n, work.place, isOpen) : null;
  const label = say("decided", { choice: named(choiceOf(decisionAt(work.place)) ?? "open", choices) });
  if (next !== null) await goTo(next);
  else show();
  announce(`${label} ${byId("status").textContent}`);
}

async function takeBack() {
  const place = undo();
  if (place === null) return;
  await goTo(place);
  announce(`${say("undone")} ${byId("status").textContent}`);
}

function saveFile() {
  save();
  notice = NOTHING;
  announce(say("saved"));
  show();
}

function addQuote() {
  const where = selected(byId("reading"));
  const { premises } = shown.item;
  const text = where && premises[where.number][1];
  const quote = where && quoteOf(text, where.from, where.to);
  notice = quote ? NOTHING : () => say("nothing_selected");
  if (quote) {
    const docs = premises.map(([name]) => name);
    const before = decisionAt(work.place)?.quotes ?? [];
    decide(work.place, { quotes: withQuote(before, { doc: docs[where.number], ...quote }, text, docs) });
    cursor.at = where;
    getSelection().removeAllRanges();
  }
  show();
}

function removeQuote(place) {
  const quotes = (decisionAt(work.place)?.quotes ?? []).filter((_, i) => i !== place);
  decide(work.place, quotes.length ? { quotes } : null);
  show();
}

// Keys -------------------------------------------------------------------------------------------------------------

function toggle(name) {
  byId(name)?.click();
}

const KEYS = {
  j: () => move(1), ArrowRight: () => move(1), k: () => move(-1), ArrowLeft: () => move(-1), Enter: toOpen, u: takeBack,
  m: () => byId("note").focus(), "/": () => toggle("showsOpen"), v: () => toggle("showsJudge"), f: showCandidate,
};
const QUOTING = {
  q: addQuote,
  x: () => decisionAt(work.place)?.quotes?.length && removeQuote(decisionAt(work.place).quotes.length - 1),
};

// What a Chinese keyboard types in their place.
const WIDE = { "？": "?", "、": "/" };

function act(event) {
  const key = WIDE[event.key] ?? (event.key.length === 1 ? event.key.toLowerCase() : event.key);
  const choice = choices.find(({ keys }) => keys.includes(key));
  if (choice) return event.repeat ? null : () => choose(choice);
  if (form.kind === "quotes" && (key === "ArrowDown" || key === "ArrowUp"))
    return () => stepSentence(byId("reading"), key === "ArrowDown" ? 1 : -1, event.shiftKey);
  return (form.kind === "quotes" && QUOTING[key]) || KEYS[key];
}

addEventListener("keydown", (event) => {
  if (!work.rater) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
    event.preventDefault();
    saveFile();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.matches("textarea, input:not([type=checkbox])")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (!work.hasKeys) return;
  if (event.key === "Enter" && event.target.matches("button, summary, a, input")) return;
  if (event.key.startsWith("Arrow") && event.target.matches(".text") && form.kind !== "quotes") return;
  const does = act(event);
  if (!does) return;
  event.preventDefault();
  does();
});

addEventListener("beforeunload", (event) => {
  if (work.rater && !work.isKept && nUnfiled()) event.preventDefault();
});

goOnWith(() => {
  if (work.rater) keepWork();
  render();
});
followOthers(show);
const rater = raterBefore();
if (rater) open(rater);
render();
