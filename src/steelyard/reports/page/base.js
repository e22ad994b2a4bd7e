// What the parts of the page share: the source of its questions, and what of them is at hand at once.
import { held, say } from "../html/shell.js";
import { inlinedReport } from "./source.js";

export const source = inlinedReport(held("data"));
export const about = source.about;
export const list = source.list();
export const nSystems = about.systems.length;
export const order = about.order;

export const whole = new Intl.NumberFormat("en-US");

// What became of a question: why it has no value, or where its gold was lost.
export function outcomeOf(system, question) {
  const status = list.status(system, question);
  return status ? say(`status.${status}`) : (about.stage_names[list.stage(system, question)] ?? "–");
}
