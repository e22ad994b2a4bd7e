// Where systems are many, the first ones and the baseline are shown, and the others behind a button; their tables sort.
import { toolsBelow } from "../html/downloads.js";
import { element } from "../html/elements.js";
import { say } from "../html/shell.js";
import { FIRST_SYSTEMS, numberOf, ordered } from "./computing.js";

// A button below what shows n systems, all of them or the first ones; nothing where they are few.
export function foldBelow(node, n, show) {
  let folded = n > FIRST_SYSTEMS + 1;
  show(folded);
  if (!folded) return;
  const button = element("button", { type: "button", "aria-expanded": "false" }, say("show_all", { n }));
  button.addEventListener("click", () => {
    folded = !folded;
    show(folded);
    button.textContent = folded ? say("show_all", { n }) : say("show_first", { n: FIRST_SYSTEMS });
    button.setAttribute("aria-expanded", String(!folded));
  });
  toolsBelow(node).append(button);
}

export function startSystems() {
  for (const table of document.querySelectorAll("table[data-of-systems]")) {
    startSorting(table);
    hideBeyond(table);
    const fold = (folded) => table.classList.toggle("folded", folded);
    foldBelow(table.closest(".scroll"), table.tBodies[0].rows.length, fold);
  }
}

function startSorting(table) {
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.dataset.first);
  const rows = [...table.tBodies[0].rows];
  for (const head of heads) {
    head.replaceChildren(element("button", { type: "button" }, head.textContent));
    // Rows come by the first of them.
    head.setAttribute("aria-sort", head === heads[0] ? "ascending" : "none");
    head.firstChild.addEventListener("click", () => {
      const first = Number(head.dataset.first) > 0 ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = head.getAttribute("aria-sort") === first ? other : first;
      for (const sibling of heads) sibling.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", direction);
      const value = (i) => numberOf(rows[i].cells[head.cellIndex].dataset.value);
      table.tBodies[0].append(...ordered([...rows.keys()], value, direction === "descending").map((i) => rows[i]));
      hideBeyond(table);
    });
  }
}

function hideBeyond(table) {
  for (const [place, row] of [...table.tBodies[0].rows].entries())
    row.classList.toggle("beyond", place >= FIRST_SYSTEMS && !("always" in row.dataset));
}
