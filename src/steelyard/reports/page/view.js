// What the page shows of the questions, in one place: the table, the dialog and the address follow it.
import { byId } from "../html/elements.js";
import { lifetime } from "../html/shell.js";
import { addressOf, firstView, viewAt } from "./computing.js";
import { about, list } from "./base.js";

const outcomes = [...(byId("filter-outcome")?.options ?? [])].map((option) => option.value);
// Where all questions have one outcome, it is no column.
const sections = [...document.querySelectorAll("section[id]")].map((section) => section.id);
export const facts = { ...about, ids: list.ids, outcomes, has_outcomes: outcomes.length > 2, sections };
export const view = firstView(facts);
const followers = [];

// Have `show(view)` called after every change.
export function follow(show) {
  followers.push(show);
  show(view);
}

function showView() {
  for (const show of followers) show(view);
}

// Show something else.  The way back leads to what was shown before; what changes quietly (while somebody types, or
// leafs through questions) is no step of its own.  Addresses that the page has written have a state.
export function change(changes, { quietly = false } = {}) {
  Object.assign(view, { section: "" }, changes);
  const address = location.href.split("#")[0] + addressOf(view, facts);
  try {
    history[quietly || address === location.href ? "replaceState" : "pushState"](true, "", address);
  } catch {
    // Frames of some programs have no address of their own: the page shows the same without.
  }
  showView();
}

// A link to a section, which the browser has followed, changes nothing of what is shown.
function readAddress() {
  const section = location.hash.slice(1);
  if (!history.state && sections.includes(section)) {
    change({ question: null, section }, { quietly: true });
    return;
  }
  Object.assign(view, viewAt(location.hash, facts) ?? { question: null });
  showView();
}

addEventListener("hashchange", readAddress, lifetime());
Object.assign(view, viewAt(location.hash, facts));
