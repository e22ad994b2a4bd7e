// The shell of every page: its languages, its light and its navigation.  What is shown in it is a view.
import { byId, element, read } from "./elements.js";
import { patched, phrase } from "./texts.js";

const { first, by_browser: byBrowser, html_lang: htmlLang, titles, changes } = read("languages");
const words = read("words");
const root = document.documentElement;
const page = byId("page");

// Languages --------------------------------------------------------------------------------------------------------

export const language = { code: first, codes: Object.keys(titles) };
// The language that the address names, as ?lang=zh: a link to the page keeps it.  null where it names none.
export const askedLanguage = () => {
  const code = new URLSearchParams(location.search).get("lang");
  return language.codes.includes(code) ? code : null;
};
// The first language of the reader's browser that the page has; the one it opens in otherwise where it has none of them.
const preferred = () => navigator.languages.map((tag) => tag.split("-")[0]).find((code) => language.codes.includes(code)) ?? first;
export const say = (key, values) => phrase(words[language.code], key, values);
export const has = (key) => key in words[language.code];

// Data of the page by name, as it is in the language of the page.
export const held = (name) => patched(read(name), changes[language.code]?.[name]);

const bodies = new Map([...document.querySelectorAll("template")].map(({ dataset, content }) => [dataset.code, content]));
const whole = document.createRange();
whole.selectNodeContents(page);
bodies.set(first, whole.cloneContents());

function fill(code) {
  language.code = code;
  document.title = titles[code];
  root.lang = htmlLang[code];
  page.replaceChildren(bodies.get(code).cloneNode(true));
}

function keepInAddress(code) {
  const address = new URL(location.href);
  address.searchParams.set("lang", code);
  try {
    history.replaceState(history.state, "", address);
  } catch {
    // Frames of some programs have no address of their own.
  }
}

// Show the page in a language; what was at the top of the window stays there.
export function speak(code) {
  const sections = scrollY > 0 ? [...page.querySelectorAll("section[id]")] : [];
  const section = sections.find((own) => own.getBoundingClientRect().bottom > 0);
  const top = section?.getBoundingClientRect().top;
  fill(code);
  keepInAddress(code);
  run(view.again);
  if (section) scrollBy({ top: byId(section.id).getBoundingClientRect().top - top, behavior: "instant" });
  page.querySelector(".tools [lang]")?.focus({ preventScroll: true });
}

// The view ---------------------------------------------------------------------------------------------------------

const view = { start: null, again: null, life: null };

// What ends listening to the window and the document once the view is made anew.
export const lifetime = () => ({ signal: view.life.signal });

// What a view does when the language has changed, where it need not begin from its start.
export function goOnWith(again) {
  view.again = again;
}

export function show(start) {
  Object.assign(view, { start, again: start });
  const code = askedLanguage() ?? (byBrowser ? preferred() : first);
  if (code !== first) fill(code);
  run(start);
}

function run(begin) {
  view.life?.abort();
  view.life = new AbortController();
  startTools();
  begin();
  startNavigation();
}

// Light and dark ---------------------------------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
export const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

// Have `draw` called after every change between light and dark.
export function followLight(draw) {
  document.addEventListener("light", draw, lifetime());
}

function startTools() {
  const theme = element("button", { type: "button", id: "theme" });
  const label = () => {
    theme.textContent = say(isDark() ? "light" : "dark");
    document.dispatchEvent(new Event("light"));
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  prefersDark.addEventListener("change", label, lifetime());
  const others = language.codes.filter((code) => code !== language.code);
  const languages = others.map((code) =>
    element("button", { type: "button", lang: htmlLang[code], onclick: () => speak(code) }, words[code].language));
  page.querySelector(".tools").replaceChildren(...languages, theme);
  label();
}

// Where the reader is ----------------------------------------------------------------------------------------------

function startNavigation() {
  const nav = page.querySelector(".bar nav");
  if (!nav) return;
  const links = [...nav.children];
  const targets = links.map((link) => byId(link.hash.slice(1)));
  let shown = -1;
  const follow = () => {
    // At the top it is the first one, however short that is.
    const below = Math.min(innerHeight * 0.35, scrollY + 100);
    const at = Math.max(0, targets.findLastIndex((target) => target.getBoundingClientRect().top < below));
    if (at === shown) return;
    shown = at;
    for (const [i, link] of links.entries()) link.setAttribute("aria-current", String(i === at));
    const link = links[at];
    nav.scrollTo({ left: link.offsetLeft - nav.clientWidth / 3, top: link.offsetTop - nav.clientHeight / 2 });
  };
  let asked = false;
  const later = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      follow();
    });
  };
  addEventListener("scroll", later, { passive: true, ...lifetime() });
  // A section that is folded is opened by whatever leads to it.
  page.addEventListener("click", (event) => {
    const fold = byId(event.target.closest("a[href^='#']")?.hash.slice(1))?.querySelector("details.fold");
    if (fold) fold.open = true;
  }, lifetime());
  follow();
}
