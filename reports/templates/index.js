"use strict";
// Filters and sorts the table of runs.
const rows = [...document.querySelectorAll("#runs tbody tr")];
const allRows = [...document.querySelectorAll(".runs tbody tr")]; // of the patterns' table too
const selects = [...document.querySelectorAll(".filters select[data-key]")];

for (const select of selects) {
  const values = [...new Set(rows.map((row) => row.dataset[select.dataset.key]))].sort();
  for (const value of values) select.append(new Option(value, value));
  select.addEventListener("change", filter);
}

function filter() {
  for (const row of allRows) {
    row.hidden = selects.some((select) => select.value && row.dataset[select.dataset.key] !== select.value);
  }
  document.getElementById("count").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} runs`;
}

function valueOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
}

document.querySelectorAll("#runs thead th").forEach((head, column) => {
  head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    document.querySelectorAll("#runs thead th").forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const sorted = [...rows].sort((a, b) => {
      const [x, y] = [valueOf(a, column), valueOf(b, column)];
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1; // runs without the number come last
      const order = typeof x === "number" ? x - y : x.localeCompare(y);
      return up ? order : -order;
    });
    document.querySelector("#runs tbody").append(...sorted);
  });
});

// Where the table is a pile of cards its headings are out of sight: a list of them sorts instead.
const order = document.getElementById("order");
const heads = [...document.querySelectorAll("#runs thead button")];
for (const head of heads) order.append(new Option(head.textContent));
order.addEventListener("change", () => heads[order.selectedIndex].click());
filter();
