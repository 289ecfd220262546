// Tables are sorted by a header: upwards, downwards, and then as the page has them.

// scales are by how much a value in a unit is multiplied, so that those of one kind compare.
const scales = {
  ns: 1e-9, "µs": 1e-6, us: 1e-6, ms: 1e-3, s: 1, m: 60, min: 60, h: 3600, d: 86400,
  b: 1, byte: 1, bytes: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3,
};

// numberIn returns the number that a text begins with, in the base unit of its kind, or NaN. "1,234", "12.5 ms" and "−3 %" are numbers.
function numberIn(text) {
  const found = /^[<>≤≥~±]?\s*([-+−]?)([\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(?:([a-zA-Zµ%/]+)(?:\/[a-z]+)?)?(?=$|[\s,;(])/.exec(text);
  if (!found) return NaN;
  const value = Number(found[2].replaceAll(",", "")) * (found[1] === "-" || found[1] === "−" ? -1 : 1);
  return value * (scales[(found[3] || "").toLowerCase()] || 1);
}

// missing are cells without a value. They stay behind the others.
const missing = (text) => text === "" || text === "–" || text === "-" || text === "unknown";

// comparison returns how two rows compare in a column: as numbers if each value of the column is one, else as texts.
function comparison(rows, column) {
  const texts = new Map(rows.map((row) => [row, (row.cells[column] ? row.cells[column].textContent : "").trim()]));
  const present = rows.filter((row) => !missing(texts.get(row)));
  const numeric = present.length > 0 && present.every((row) => !Number.isNaN(numberIn(texts.get(row))));
  return (a, b, direction) => {
    const [x, y] = [texts.get(a), texts.get(b)];
    if (missing(x) || missing(y)) return Number(missing(x)) - Number(missing(y));
    const order = numeric ? numberIn(x) - numberIn(y) : x.localeCompare(y, "en", { numeric: true });
    return direction * order;
  };
}

function sortBy(table, header, original) {
  const directions = { none: "ascending", ascending: "descending", descending: "none" };
  const next = directions[header.getAttribute("aria-sort") || "none"];
  for (const th of header.parentElement.cells) th.removeAttribute("aria-sort");
  let rows = [...original];
  if (next !== "none") {
    header.setAttribute("aria-sort", next);
    const compare = comparison(rows, header.cellIndex);
    rows.sort((a, b) => compare(a, b, next === "ascending" ? 1 : -1));
  }
  table.tBodies[0].append(...rows);
}

// makeSortable makes buttons of the headers of an article's tables, once.
function makeSortable(article) {
  for (const table of article.querySelectorAll("table:not(.sortable)")) {
    table.classList.add("sortable");
    if (!table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 2) continue;
    const original = [...table.tBodies[0].rows];
    for (const header of table.tHead.rows[0].cells) {
      if (header.tagName !== "TH") continue;
      const button = element("button", { type: "button" }, ...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sortBy(table, header, original));
    }
  }
}
