// Files of what the page shows: tables as CSV, charts as SVG and PNG.  They are put together here; nothing is asked for.
import { element } from "./elements.js";
import { say } from "./shell.js";
import { csvOf, fileName, onWhite } from "./texts.js";

// The row of buttons below a table or a chart; it comes with the first of them.
export function toolsBelow(node) {
  if (!node.nextElementSibling?.matches(".below")) node.after(element("div", { class: "pages below" }));
  return node.nextElementSibling;
}

// A button that hands out a file; contents() gives text or a Blob, at once or later.
export function offer(tools, label, name, contents) {
  const save = async () => {
    const link = element("a", { href: URL.createObjectURL(new Blob([await contents()])), download: name() });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  tools.append(element("button", { type: "button", class: "quiet", title: say("download", { format: label }), onclick: save }, label));
}

// Spreadsheets take a file for UTF-8 where it begins so.
export const csvFile = (rows) => `\ufeff${csvOf(rows)}`;

// A table as it is shown, folded rows too; values in full, with the ends of their intervals in columns of their own.
function rowsOf(table) {
  const rows = [...table.rows].map((row) => [...row.cells]);
  const withEnds = rows[0].map((_, c) => rows.some((row) => row[c].dataset.low !== undefined));
  const text = (cell) => (cell.querySelector("button, strong, .pill") ?? cell.firstChild ?? cell).textContent;
  return rows.map((row, r) =>
    row.flatMap((cell, c) => {
      if (!withEnds[c]) return [text(cell).trim().replace(/^−/, "-")];
      if (r === 0) return [text(cell), `${text(cell)} low`, `${text(cell)} high`];
      return [cell.dataset.value, cell.dataset.low, cell.dataset.high].map((value) => value ?? "");
    }),
  );
}

// In a corner of a figure.
export function cornerOf(drawing) {
  const corner = element("div", { class: "corner" });
  drawing.before(corner);
  return corner;
}

function drawnOnWhite(drawing) {
  const style = getComputedStyle(document.documentElement);
  const copy = drawing.cloneNode(true);
  copy.style.background = "white";
  return onWhite(new XMLSerializer().serializeToString(copy), (name) => style.getPropertyValue(name));
}

// Buttons for all tables, and for the charts that are drawn already.
export function startDownloads() {
  for (const table of document.querySelectorAll("#page table[data-csv]"))
    offer(toolsBelow(table.closest(".scroll")), "CSV", () => `${fileName(table.dataset.csv)}.csv`, () => csvFile(rowsOf(table)));
  for (const figure of document.querySelectorAll("#page figure[data-name]"))
    offer(cornerOf(figure.firstElementChild), "SVG", () => `${figure.dataset.name}.svg`, () => drawnOnWhite(figure.querySelector("svg")));
  // Of a chart that is wider than the window, what is recommended, whose label alone is bold, is in view.
  for (const label of document.querySelectorAll("#page .plot svg text[font-weight='bold']")) {
    const plot = label.closest(".plot");
    plot.scrollLeft += Math.max(0, label.getBoundingClientRect().right - plot.getBoundingClientRect().right + 24);
  }
}
