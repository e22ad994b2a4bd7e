// What the parts of the form share: what it asks, its words, and texts that are fit to be shown.
import { phrase } from "../html/texts.js";
import { element, read } from "../html/elements.js";
import { shown } from "./computing.js";

export const form = read("data");
const words = read("words");
export const languages = Object.keys(words.texts);

// The language of the form; what it is set to holds for all that is said from then on.
export const language = {
  code: words.lang,
  set(code) {
    this.code = code;
    document.documentElement.lang = words.html_lang[code];
  },
};

export const say = (key, values) => phrase(words.texts[language.code], key, values);
export const sayIn = (code, key) => phrase(words.texts[code], key);
export const has = (key) => key in words.texts[language.code];

// Texts from outside.
export const visible = (text) => shown(text, form.replacements);
export const textAt = (place) => form.texts[place];

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
  if (word !== undefined) return word ? `${choice} ${visible(word)}` : choice;
  return say(`choice.${choice}`);
}
