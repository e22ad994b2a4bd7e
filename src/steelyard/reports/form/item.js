// One item: what was asked, the sentence in its answer, the texts that it is decided by, and what others say of it.
import { stretches } from "../html/texts.js";
import { element } from "../html/elements.js";
import { has, language, say } from "../html/shell.js";
import { form, keyed, named, visible, worded } from "./base.js";
import { choiceOf, choicesOf, isDecided, layers, sentencesOf, stepped } from "./computing.js";
import { decisionAt, hasBegun, isDone, work } from "./keeping.js";

const LONG = 600;

// What is read -----------------------------------------------------------------------------------------------------

// Names of keys and texts by what is asked: "ask.grounded", "ask.grades".
export const asked = (item, area) => say(`${area}.${form.kind === "verdicts" ? item.table : form.kind}`);

function marked(text, marks, options) {
  const parts = stretches(visible(text), marks);
  return parts.map(([part, isMarked]) => (isMarked ? element("mark", options, part) : part));
}

// The passages of a premise that are marked: its quotes, or the candidate; and what is likely, which is not shown before the
// first decision.
function passages(name, number, item, decision) {
  const within = (rows) => rows.filter(([at]) => at === number).map(([, start, end]) => [start, end]);
  const quotes = (decision?.quotes ?? []).filter(({ doc }) => doc === name).map(({ start, end }) => [start, end]);
  const marks = form.kind === "quotes" ? quotes : within(item.candidate ? [item.candidate] : []);
  return { marks, likely: hasBegun() ? within(item.likely) : [] };
}

// Where a text is from, in the words that people know it by; its id where that is all there is.
function placeName(name, number, place) {
  if (!place) return visible(name) || String(number + 1);
  const [doc, pages] = place;
  const where = pages.length ? say("page_of", { doc: visible(doc), pages: pages.join(say("page_and")) }) : visible(doc);
  return `${number + 1} · ${where}`;
}

function premise([name, text], number, item, decision) {
  const { marks, likely } = passages(name, number, item, decision);
  const kind = form.kind === "quotes" ? "quoted" : "candidate";
  const body = element("div", { class: "text", dir: "auto", "data-premise": number });
  for (const { text: part, isMarked, isLikely } of layers(text, marks, likely)) {
    const inner = isLikely ? element("u", { class: "likely" }, visible(part)) : visible(part);
    body.append(isMarked ? element("mark", { class: kind }, inner) : inner);
  }
  const head = element("summary", { title: visible(name) || null }, element("b", {}, placeName(name, number, item.places[number])));
  return element("details", { open: true, class: text.length > LONG ? "long" : null }, head, body);
}

export function* readingOf(item, decision) {
  yield element("h2", { dir: "auto" }, visible(item.query));
  if (item.answer) {
    const sentence = marked(item.answer, item.span ?? [], { class: "asked" });
    yield element("h3", {}, say("answer"));
    yield element("div", { class: "answer", dir: "auto" }, ...sentence);
  }
  yield element("div", { class: "row heading" },
    element("h3", {}, asked(item, "premises"), item.premises.length > 1 ? ` (${item.premises.length})` : ""),
    item.candidate ? keyed(say("candidate"), "f", showCandidate, { class: "quiet" }) : null,
  );
  yield element("div", { class: "premises" }, ...item.premises.map((row, i) => premise(row, i, item, decision)));
}

// The sentence that is decided on, behind what it is understood by.
export const sentenceOf = ({ hypothesis, lead }) =>
  [lead ? element("span", { class: "faint" }, `${visible(lead)} `) : null, visible(hypothesis)].filter(Boolean);

// Long texts can be scrolled from the keyboard, and begin where the candidate is.
export function scrollTexts(reading) {
  for (const text of reading.querySelectorAll(".text")) {
    if (text.scrollHeight > text.clientHeight + 1) {
      text.tabIndex = 0;
      text.setAttribute("role", "group");
      text.setAttribute("aria-label", text.parentElement.querySelector("summary").textContent);
    }
    const mark = text.querySelector("mark.candidate");
    if (mark) text.scrollTop = Math.max(0, mark.offsetTop - text.offsetTop - 40);
  }
}

export function showCandidate() {
  const mark = document.querySelector("mark.candidate");
  if (!mark) return;
  mark.closest("details").open = true;
  mark.scrollIntoView({ block: "center" });
}

// What others say --------------------------------------------------------------------------------------------------

function opinion({ value, score, reasons }, who, choices) {
  const about = [named(String(value), choices)];
  if (score !== null) about.push(say("score", { score: score.toFixed(2) }));
  const reason = reasons[language.code] ? element("p", { dir: "auto" }, visible(reasons[language.code])) : null;
  const head = element("p", {}, `${who} `, element("b", { class: "pill" }, about.join(say("separator"))));
  return element("div", { class: "opinion" }, head, reason);
}

// What raters said, where this is an adjudication.
export function opinionsOf(item) {
  return item.opinions.map((other, i) => opinion(other, say("rater_n", { n: String.fromCharCode(65 + i) }), choicesOf(form)));
}

// The judge's verdict: once all items are decided, or, by an option, once this one is.
export function judgedOf(item, decision) {
  return item.judged !== null && isDecided(decision) && (work.showsJudge || isDone()) ? [opinion(item.judged, say("judge"), choicesOf(form))] : [];
}

// Whether there is something to be read after this decision.
export const waits = (item) => item.judged !== null && work.showsJudge;

// Quotes -----------------------------------------------------------------------------------------------------------

// Where a place in the page is in the text of a premise, in halves of characters.
function unitsBefore(body, node, offset) {
  const range = document.createRange();
  range.selectNodeContents(body);
  range.setEnd(node, offset);
  return range.toString().length;
}

// What is selected: the number of its premise, and from where to where; null where that is no text of a premise.
export function selected(reading) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const start = range.startContainer;
  const body = (start.nodeType === Node.TEXT_NODE ? start.parentElement : start).closest("[data-premise]");
  if (!body || !reading.contains(body)) return null;
  const ends = body.contains(range.endContainer);
  const to = ends ? unitsBefore(body, range.endContainer, range.endOffset) : body.textContent.length;
  return { number: Number(body.dataset.premise), from: unitsBefore(body, start, range.startOffset), to };
}

// Select a stretch of a premise, and bring it into view.
function select(body, [from, to]) {
  const range = document.createRange();
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  let before = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const behind = before + node.data.length;
    if (from >= before && from < behind) range.setStart(node, from - before);
    if (to > before && to <= behind) range.setEnd(node, to - before);
    before = behind;
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const box = range.getBoundingClientRect();
  const frame = body.getBoundingClientRect();
  if (box.top < frame.top || box.bottom > frame.bottom) body.scrollTop += box.top - frame.top - 40;
  const top = range.getBoundingClientRect().top;
  if (top < 120 || top > innerHeight - 220) scrollBy(0, top - innerHeight / 3);
}

// What was selected last and is a quote by now: from there the next sentence is selected.
export const cursor = { at: null };

// Move the selection by a sentence, over all premises of the item, or make it longer by one.
export function stepSentence(reading, step, isExtended) {
  const bodies = [...reading.querySelectorAll("[data-premise]")];
  const now = selected(reading) ?? cursor.at;
  let number = now?.number ?? (step > 0 ? 0 : bodies.length - 1);
  const sentences = () => sentencesOf(bodies[number].textContent, language.code);
  const rows = sentences();
  if (now === null) {
    if (rows.length) select(bodies[number], rows.at(step > 0 ? 0 : -1));
    return;
  }
  const covered = rows.flatMap(([from, to], i) => (from < now.to && to > now.from ? [i] : []));
  const first = covered[0] ?? 0;
  const last = covered.at(-1) ?? 0;
  const edge = step > 0 ? last === rows.length - 1 : (isExtended ? last : first) === 0;
  if (edge && !isExtended && bodies[number + step]) {
    number += step;
    const others = sentences();
    if (others.length) select(bodies[number], others.at(step > 0 ? 0 : -1));
    return;
  }
  const [from, to] = stepped(rows, isExtended ? [first, last] : [first, step > 0 ? last : first], step, isExtended);
  if (rows.length) select(bodies[number], [rows[from][0], rows[to][1]]);
}

// Items whose decision is some quotes, as a list with a button to remove each.
export function quoteList(place, remove) {
  const quotes = decisionAt(place)?.quotes ?? [];
  const rows = quotes.map((quote, i) => {
    const label = say("remove_quote", { n: i + 1 });
    const button = element("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick: () => remove(i) }, "×");
    return element("li", {}, element("q", { dir: "auto" }, visible(quote.quote)), button);
  });
  return element("ol", { class: "quotes" }, ...rows);
}

// What raters are to know: the meaning of each choice.
export function* meanings() {
  for (const { name, word } of choicesOf(form)) {
    const key = `meaning.${form.kind}.${name}`;
    const text = has(key) ? say(key) : has(`meaning.${name}`) ? say(`meaning.${name}`) : "";
    if (!text && !word) continue;
    yield element("dt", {}, word === undefined ? say(`choice.${name}`) : name);
    yield element("dd", { dir: "auto" }, word === undefined ? text : worded(word));
  }
}

export const currentChoice = (place) => choiceOf(decisionAt(place));
