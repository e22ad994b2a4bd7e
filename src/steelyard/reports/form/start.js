// Who decides: the page before the first item, and saved files.
import { element } from "../html/elements.js";
import { say } from "../html/shell.js";
import { form, visible, worded } from "./base.js";
import { isDecided } from "./computing.js";
import { meanings } from "./item.js";
import { open, readChosen, take, work } from "./keeping.js";

const n = form.items.length;

// Files ------------------------------------------------------------------------------------------------------------

function problemText({ problem, value }) {
  return say(`problem.${problem}`, { value: visible(value ?? "") });
}

// A button that asks for a file, and hands what it holds to `use`.
export function loading(label, use) {
  const input = element("input", { type: "file", accept: ".json,application/json", hidden: true });
  input.addEventListener("change", async () => {
    const [chosen] = input.files;
    input.value = "";
    if (chosen) use(await readChosen(chosen));
  });
  return element("span", {}, element("button", { type: "button", onclick: () => input.click() }, label), input);
}

// Take in what a file holds, and return what says so, in whatever language the page is in by then; or what says why not.
export function loaded(file) {
  if (file.problem) return () => problemText(file);
  const { rater } = work;
  if (file.rater !== rater) return () => say("problem.rater", { value: visible(file.rater), rater: visible(rater) });
  take(file);
  const nDecided = [...file.decisions.values()].filter(isDecided).length;
  const counts = [["loaded", nDecided], ["loaded_notes", file.decisions.size - nDecided], ["left_out", file.leftOut]];
  return () => counts.filter(([key, count]) => count || key === "loaded").map(([key, count]) => say(key, { n: count })).join(say("between"));
}

// The first page ---------------------------------------------------------------------------------------------------

// What was typed before the language changed.
let typed = "";

const isReserved = (rater) => rater.toLowerCase() === "adjudication";

// The page before the first item; begin(text) is called once it is known whose form this is.
export function* startPage(begin) {
  const problem = element("p", { class: "problem", role: "alert" });
  const input = element("input", { id: "rater", value: typed, autocomplete: "off", maxlength: 80, required: true, "aria-describedby": "rater-about" });
  input.addEventListener("input", () => { typed = input.value; });
  const submit = (event) => {
    event.preventDefault();
    const rater = input.value.trim().normalize("NFC");
    if (isReserved(rater)) problem.textContent = say("problem.reserved");
    else if (rater) {
      typed = "";
      open(rater);
      begin();
    }
  };
  const resume = (file) => {
    if (file.problem) problem.textContent = problemText(file);
    else if (isReserved(file.rater)) problem.textContent = say("problem.reserved");
    else {
      open(file.rater);
      begin(loaded(file));
    }
  };
  const asking = element("form", { class: "start" },
    element("label", { for: "rater" }, say("rater")), input,
    element("p", { id: "rater-about", class: "about" }, say("rater_about")),
    element("div", { class: "row" }, element("button", { type: "submit", class: "first" }, say("start")), loading(say("resume"), resume)),
    problem,
  );
  asking.addEventListener("submit", submit);
  yield element("h1", { dir: "auto" }, worded(form.title));
  yield element("p", {}, say(`intro.${form.kind}`, { n }));
  if (form.instructions) yield element("p", { class: "instructions", dir: "auto" }, visible(form.instructions));
  yield element("dl", { class: "meanings" }, ...meanings());
  yield asking;
}
