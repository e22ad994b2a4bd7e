// What the parts of the page share: the data of the report.
import { held, say } from "../html/shell.js";
import { lazily, measureColumn, offsets, unpack } from "./computing.js";

export const data = held("data");
export const nSystems = data.systems.length;
export const nQuestions = data.ids.length;
export const order = data.order;

export const whole = new Intl.NumberFormat("en-US");

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
  return status ? say(`status.${status}`) : (data.stage_names[stageOf(system, question)] ?? "–");
}
