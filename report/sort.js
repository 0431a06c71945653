// A map is sorted by the column whose head is clicked: the highest figures first, names by the alphabet.
"use strict";

for (const table of document.querySelectorAll("table.map")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const read = (row) => row.cells[column].textContent;
      // Of a range, such as 12–24, the end counts.
      const rank = (row) => Number(read(row).replace(/\s/g, "").replace("−", "-").match(/-?[\d.]+$/) ?? -Infinity);
      const order = column ? (one, other) => rank(other) - rank(one) || 0 : (one, other) => read(one).localeCompare(read(other));
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", column ? "descending" : "ascending");
    });
  });
}
