// What the parts of the form share: what it asks, and texts that are fit to be shown.
import { element } from "../html/elements.js";
import { held, language, say } from "../html/shell.js";
import { shown } from "./computing.js";
import { inlinedForm } from "./source.js";

export const source = inlinedForm(held("data"), () => localStorage);
// What the form asks, with a row for each item; an item in full is a question to the source.
export const form = { ...source.about, items: source.list() };

// Texts from outside.
export const visible = (text) => shown(text, form.replacements);
// One text for every language, or one in each.
export const worded = (text) => visible(typeof text === "string" ? text : text[language.code]);

// A button with the key that does the same.  After a click it does not keep the focus, as Enter would press it again.
export function keyed(label, key, act, options = {}) {
  const hint = key ? element("kbd", { "aria-hidden": "true" }, key) : null;
  const onclick = (event) => {
    if (event.detail) event.currentTarget.blur();
    act();
  };
  return element("button", { type: "button", "aria-keyshortcuts": key || null, onclick, ...options }, label, hint && " ", hint);
}

// What was decided, in words.
export function named(choice, choices) {
  const word = choices.find(({ name }) => name === choice)?.word;
  if (word !== undefined) return word ? `${choice} ${worded(word)}` : choice;
  return say(`choice.${choice}`);
}
