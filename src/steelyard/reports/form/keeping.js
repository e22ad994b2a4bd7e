// Decisions of one rater: kept in the browser after every change, saved to a file, and loaded from one.
import { fileName } from "../html/texts.js";
import { element } from "../html/elements.js";
import { askedLanguage, language, speak } from "../html/shell.js";
import { form, source } from "./base.js";
import { decided, fileOf, isDecided, merged, readFile, unfiled } from "./computing.js";
import { keyOf } from "./source.js";

const sessionKey = keyOf(form, "rater");

// Whose decisions these are, and which item is shown; `isKept` says whether the browser keeps them.
export const work = {
  rater: "",
  place: 0,
  decisions: new Map(),
  history: [],
  filed: "",
  isKept: true,
  showsJudge: false,
  showsOpen: false,
  hasKeys: true,
};

export const decisionAt = (place) => work.decisions.get(form.items[place].item_id);
export const isOpen = (place) => !isDecided(decisionAt(place));
export const hasBegun = () => form.items.some((_, place) => !isOpen(place));
export const isDone = () => form.items.every((_, place) => !isOpen(place));
export const nUnfiled = () => unfiled(form.items, work.decisions, work.filed);

// The browser ------------------------------------------------------------------------------------------------------

const ANY = { has: (id) => typeof id === "string" };

// All decisions, also on items that a form of the same review asked before.
export function keepWork() {
  const file = fileOf(form, work.rater, work.decisions, new Date().toISOString(), [...work.decisions.keys()]);
  const { place, filed, showsJudge, showsOpen, hasKeys } = work;
  const view = { place, filed, showsJudge, showsOpen, hasKeys, language: language.code };
  const text = JSON.stringify({ ...file, view });
  work.isKept = source.keep(work.rater, text);
  keepInTab({ key: sessionKey, rater: work.rater, text });
}

// Whose form this is, as the tab keeps it.
function keepRater(rater) {
  try {
    sessionStorage.setItem(sessionKey, rater);
  } catch {
    // There is the state of the tab's place in its history.
  }
}

function keptRater() {
  try {
    return sessionStorage.getItem(sessionKey);
  } catch {
    return null;
  }
}

// The state of the tab's place in its history, which another part of the browser keeps: a busy Chromium was seen to lose
// all that a page had put into its storage when that page was loaded again.  Browsers take some such states a second.
const PAUSE_MS = 200;
const waiting = { timer: 0, until: 0 };

function keepInTab(state) {
  const write = () => {
    waiting.until = Date.now() + PAUSE_MS;
    try {
      history.replaceState(state, "");
    } catch {
      // There is the storage.
    }
  };
  clearTimeout(waiting.timer);
  waiting.timer = setTimeout(write, Math.max(0, waiting.until - Date.now()));
}

// The tab's own state, where it is of this rater.
const stateOf = (rater) => (history.state?.key === sessionKey && history.state.rater === rater ? history.state.text : null);

// What is kept of a rater, if it is of this form: of its two places the later one.
function readKept(rater) {
  const own = source.kept(rater);
  if (own === undefined) work.isKept = false;
  const texts = [own ?? null, stateOf(rater)];
  const files = texts.flatMap((text) => {
    const file = text === null ? { problem: "json" } : readFile(text, form, ANY);
    return file.problem ? [] : [{ ...file, ...JSON.parse(text), decisions: file.decisions }];
  });
  return files.sort((a, b) => (a.date < b.date ? -1 : 1)).at(-1) ?? null;
}

// Begin, or go on where this rater has left.
export function open(rater) {
  Object.assign(work, { rater, place: 0, decisions: new Map(), history: [], filed: "", showsOpen: false });
  const before = readKept(rater);
  if (before !== null) {
    const { place, filed, showsJudge, showsOpen, hasKeys, language: code } = before.view ?? {};
    Object.assign(work, { decisions: before.decisions, filed: String(filed ?? ""), showsOpen: showsOpen === true });
    Object.assign(work, { showsJudge: showsJudge === true, hasKeys: hasKeys !== false });
    work.place = Number.isInteger(place) && place >= 0 && place < form.items.length ? place : 0;
    if (askedLanguage() === null && code !== language.code && language.codes.includes(code)) speak(code);
  }
  keepRater(rater);
}

// Whose form this was before the page was loaded again; "" in a new tab.
export function raterBefore() {
  const { key, rater } = history.state ?? {};
  return form.rater || (keptRater() ?? (key === sessionKey ? rater : ""));
}

export function close() {
  keepRater("");
  keepInTab(null);
  work.rater = "";
}

// Another tab with the form of the same rater has changed something: go on with that.
export function followOthers(show) {
  addEventListener("storage", () => {
    if (!work.rater) return;
    work.decisions = readKept(work.rater)?.decisions ?? work.decisions;
    show();
  });
}

// Deciding ---------------------------------------------------------------------------------------------------------

// The decision on an item by another one; null for none.
export function decide(place, decision) {
  const { item_id } = form.items[place];
  const before = work.decisions.get(item_id);
  work.history.push({ place, before });
  work.decisions.set(item_id, decided(before, decision ?? {}, new Date().toISOString()));
  keepWork();
}

export function note(place, text) {
  const { item_id } = form.items[place];
  const before = work.decisions.get(item_id);
  work.decisions.set(item_id, { ...before, note: text, date: new Date().toISOString() });
  keepWork();
}

// Take the last decision back, and return its place; null where there is none.
export function undo() {
  const last = work.history.pop();
  if (last === undefined) return null;
  const { item_id } = form.items[last.place];
  const now = work.decisions.get(item_id);
  work.decisions.set(item_id, { ...last.before, note: now?.note ?? "", date: new Date().toISOString() });
  keepWork();
  return last.place;
}

// Files ------------------------------------------------------------------------------------------------------------

export function save() {
  const date = new Date().toISOString();
  const text = JSON.stringify(fileOf(form, work.rater, work.decisions, date), null, 1);
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: url, download: `${fileName("review", form.kind, work.rater)}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  work.filed = date;
  keepWork();
}

// A file that the user has chosen, as `readFile` returns it.
export async function readChosen(file) {
  return readFile(await file.text(), form);
}

// Take in what a file of this rater holds; of two decisions about one item the later one counts.
export function take(file) {
  work.decisions = merged(work.decisions, file.decisions);
  work.history = [];
  keepWork();
}
