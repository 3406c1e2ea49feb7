"use strict";
// Sorting and the slider; the page says everything without them.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, heads, head, column));
  });
}

function sort(table, heads, head, column) {
  const down = head.getAttribute("aria-sort") !== "descending";
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [key(row.cells[column]), row]);
  keyed.sort(([a], [b]) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
  if (down) keyed.reverse();
  body.append(...keyed.map(([, row]) => row));
}

function key(cell) {
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
}

for (const chooser of document.querySelectorAll(".chooser")) {
  const panels = [...chooser.querySelectorAll(".panel")];
  const slider = chooser.querySelector(".slider");
  const input = slider.querySelector("input");
  const output = slider.querySelector("output");
  const area = chooser.closest(".study") ?? document;
  const show = () => {
    const k = panels[Number(input.value)].dataset.k;
    output.textContent = k;
    input.setAttribute("aria-valuetext", `${input.getAttribute("aria-label")} = ${k}`);
    panels.forEach((panel, i) => { panel.hidden = i !== Number(input.value); });
    for (const line of area.querySelectorAll(".marker")) {
      const positions = Object.fromEntries(line.dataset.positions.split(" ").map((pair) => pair.split(":")));
      if (k in positions) { line.setAttribute("x1", positions[k]); line.setAttribute("x2", positions[k]); }
    }
    for (const row of area.querySelectorAll("tr[data-k]")) row.classList.toggle("chosen", row.dataset.k === k);
  };
  chooser.classList.add("live");
  slider.hidden = panels.length < 2;
  input.addEventListener("input", show);
  show();
}
