// What the parts of the page share: the data of the report, its words, and how elements come to be.
import { lazily, measureColumn, offsets, phrase, unpack } from "./computing.js";

export const read = (id) => JSON.parse(document.getElementById(id).textContent);
export const byId = (id) => document.getElementById(id);
export const data = read("data");
export const nSystems = data.systems.length;
export const nQuestions = data.ids.length;
export const order = data.order;

// Words and elements -------------------------------------------------------------------------------------------

const words = read("words");
export const say = (key, values) => phrase(words, key, values);
export const whole = new Intl.NumberFormat("en-US");

export function element(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "onclick") node.addEventListener("click", value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

// Columns ------------------------------------------------------------------------------------------------------

export const columns = data.values.map((packed) => measureColumn(packed, nQuestions));
const statuses = unpack(data.status);
const stages = unpack(data.stage);

export const lists = lazily(() => ({
  starts: offsets(unpack(data.list_n)),
  entry: unpack(data.list_entry),
  gain: unpack(data.list_gain),
}));

export function statusOf(system, question) {
  return statuses[system * nQuestions + question];
}

export function stageOf(system, question) {
  return stages[system * nQuestions + question];
}

// What became of the answer to a question, as a number; none without verdicts.
const answers = lazily(() => Object.fromEntries(Object.entries(data.answer).map(([s, packed]) => [s, unpack(packed)])));
export const answerOf = (system, question) => answers()[system]?.[question];

// What became of a question: why it has no value, or where its gold was lost.
export function outcomeOf(system, question) {
  const status = statusOf(system, question);
  return status ? say(`status.${status}`) : data.stage_names[stageOf(system, question)];
}
