"use strict";
// A click on a column's name sorts the table by it; another click turns the order round. What is empty stays last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const value = (row, place) => {
    const cell = row.cells[place];
    const said = (cell.dataset.sort ?? cell.textContent).trim();
    return { said, number: /^-?\d/.test(said) ? parseFloat(said) : NaN };
  };
  const compare = (a, b) =>
    Number.isNaN(a.number) || Number.isNaN(b.number)
      ? a.said.localeCompare(b.said, undefined, { numeric: true })
      : a.number - b.number;
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
      const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: value(row, place) }));
      const empty = (one) => ["", "–", "·"].includes(one.key.said);
      rows.sort((a, b) => empty(a) - empty(b) || (empty(a) ? 0 : turn * compare(a.key, b.key)));
      table.tBodies[0].append(...rows.map((one) => one.row));
    });
  });
}
