// A judged answer: its sentences with signs and colours, what speaks for each, its citations, and the gold beside it.
import { stretches } from "../html/texts.js";
import { element } from "../html/elements.js";
import { pieces } from "./computing.js";
import { say } from "../html/shell.js";

const SIGNS = { supported: "✓", not_found: "✗", contradicted: "≠", not_judged: "?", no_context: "?" };

const verdict = (label) => say(`verdict.${label}`);

function signed(label) {
  return element("span", { class: `sign ${label}` }, element("span", { "aria-hidden": "true" }, SIGNS[label] ?? "–"));
}

// The answer -----------------------------------------------------------------------------------------------------

function sentence(judged, place, parts) {
  const texts = parts.map(([text, mark]) => (mark < 0 ? text : citation(judged.cites[mark], mark, text)));
  const label = judged.labels?.[place];
  if (label === undefined || label === "no_claim") return element("span", {}, ...texts);
  const sign = element("button", { type: "button", class: "sign", "data-sentence": place }, SIGNS[label]);
  sign.append(element("span", { class: "alternative" }, ` ${verdict(label)}`));
  return element("span", { class: `sentence ${label}`, "data-sentence": place }, sign, " ", ...texts);
}

function citation([chunks, places, problem], mark, text) {
  const what = problem ? say(`citation.${problem}`) : say("citation.of", { chunks: chunks.join(say("separator")) });
  const name = [text, element("span", { class: "alternative" }, ` ${what}`)];
  if (problem) name.push(element("span", { class: "sign", "aria-hidden": "true" }, "✗"));
  if (!places.some((place) => place >= 0)) return element("span", { class: problem ? "cite bad" : "cite", title: what }, ...name);
  const kind = problem ? "plain cite bad" : "plain cite";
  return element("button", { type: "button", class: kind, "data-mark": mark, title: what }, ...name);
}

function key(judged) {
  const labels = Object.keys(SIGNS).filter((label) => judged.labels?.includes(label));
  return element("p", { class: "key" }, ...labels.map((label) => element("span", {}, signed(label), ` ${verdict(label)}`)));
}

// The gold -------------------------------------------------------------------------------------------------------

function goldBeside(judged) {
  if (!judged.gold) return null;
  const several = new Set(judged.gold.map(([alternative]) => alternative)).size > 1;
  const items = judged.gold.map(([alternative, text, said, reason, reached]) => {
    const where = [];
    if (said !== "no_claim") where.push(say(`said.${said}`));
    if (reached) where.push(say(`reached.${reached}`));
    if (several) where.push(say("gold_answer_of", { n: alternative + 1 }));
    if (reason) where.push(reason);
    const about = element("span", { class: "where" }, where.join(say("separator")));
    return element("li", { class: said }, signed(said), " ", element("span", {}, text), about);
  });
  return element("div", { class: "said-gold" }, element("h4", {}, say("gold_said")), element("ul", {}, ...items));
}

// What speaks for a sentence ---------------------------------------------------------------------------------------

function explained([label, reason, chunk, place, start, end, correct, claim, lead], passages) {
  const text = place >= 0 && start >= 0 ? passages[place].text : null;
  const about = [verdict(label)];
  const isDecided = label === "supported" || label === "contradicted";
  if (chunk) about.push(isDecided ? say("by_chunk", { chunk }) : say("nearest_chunk", { chunk }));
  if (correct) about.push(say(`correct.${correct}`));
  if (reason) about.push(reason);
  return element(
    "div",
    {},
    lead ? element("p", { class: "lead" }, say("lead", { lead })) : null,
    claim ? element("p", { class: "claim" }, claim) : null,
    element("p", {}, signed(label), " ", about.join(say("separator"))),
    text ? element("q", {}, stretches(text, [start, end])[1][0]) : null,
  );
}

// The answer with all that belongs to it; `items` finds the places of the list beside it, which show `passages`.
export function judgedAnswer(judged, passages, items) {
  const panel = element("div", { class: "reasons", "aria-live": "polite" }, say("hint"));
  const answer = element("div", { class: "answer" });
  for (const [place, parts] of pieces(judged.parts ?? [])) answer.append(sentence(judged, place, parts));
  const read = element("div", {}, answer);
  if (judged.labels?.some((label) => SIGNS[label])) read.append(key(judged), panel);
  if (judged.explanation) read.append(element("p", { class: "explanation" }, say("explanation", { text: judged.explanation })));
  const box = element("div", { class: "judged" }, read, goldBeside(judged));
  let restore = [];
  let shown;

  function forget() {
    for (const undo of restore) undo();
    restore = [];
  }

  function mark(item, whole, start, end) {
    item.classList.add("supports");
    restore.push(() => item.classList.remove("supports"));
    const text = item.querySelector("p.text");
    if (!text || !whole || start < 0) return;
    const before = [...text.childNodes];
    const cut = stretches(whole, [start, end]).map(([part, isMarked]) =>
      isMarked ? element("mark", { class: "evidence" }, part) : part,
    );
    text.replaceChildren(...cut);
    const marked = text.querySelector("mark");
    text.scrollTop = Math.max(0, marked.offsetTop - text.offsetTop - 24);
    restore.push(() => text.replaceChildren(...before));
  }

  function show(place) {
    if (shown === place) return;
    shown = place;
    forget();
    const units = judged.sentences[place];
    panel.replaceChildren(...units.map((unit) => explained(unit, passages)));
    for (const node of answer.querySelectorAll(".sentence")) node.classList.toggle("shown", Number(node.dataset.sentence) === place);
    for (const [, , , at, start, end] of units) if (at >= 0) mark(items()[at], passages[at].text, start, end);
  }

  const sentenceOf = (event) => event.target.closest("[data-sentence]")?.dataset.sentence;
  for (const kind of ["mouseover", "focusin", "click"]) {
    answer.addEventListener(kind, (event) => {
      const place = sentenceOf(event);
      if (place !== undefined) show(Number(place));
    });
  }
  answer.addEventListener("click", (event) => {
    const place = event.target.closest("[data-mark]")?.dataset.mark;
    if (place === undefined) return;
    const cited = judged.cites[Number(place)][1].filter((at) => at >= 0).map((at) => items()[at]);
    for (const item of cited) {
      item.classList.add("cited");
      setTimeout(() => item.classList.remove("cited"), 4000);
    }
    cited[0].tabIndex = -1;
    cited[0].scrollIntoView({ block: "center" });
    cited[0].focus({ preventScroll: true });
  });
  return box;
}
