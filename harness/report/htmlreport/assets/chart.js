// A chart is drawn beside a plot whose data the file has, and takes the plot's place.

const svgNamespace = "http://www.w3.org/2000/svg";

// shape makes an element of SVG.
function shape(name, attributes, ...children) {
  return fill(document.createElementNS(svgNamespace, name), attributes, children);
}

// sample makes the picture of a line or a shade in a legend.
function sample(mark) {
  return shape("svg", { viewBox: "0 0 28 10", width: "28", height: "10", "aria-hidden": "true" }, mark);
}

// quantity divides the label of an axis into what it measures and the unit, with a space before it: "time (s)" is "time" and " s".
function quantity(label) {
  const [, name, unit] = /^(.*?)(?: \(([^()]*)\))?$/.exec(label);
  return [name, unit ? " " + unit : ""];
}

const tableRows = 200; // at most, of a chart's table
let charts = 0;

class Chart {
  constructor(figure, data) {
    this.data = data;
    [this.xName, this.xUnit] = quantity(data.x);
    this.unit = quantity(data.y)[1];
    this.id = "ui-chart-" + ++charts;
    this.lines = data.lines.map((line, i) => ({ name: line.name, samples: line.n, style: i % 8, shown: true, points: pointsOf(line) }));
    this.places = placesOf(this.lines);
    this.at = -1; // the index of the place that the reader looks at
    this.static = figure.querySelector("svg.plot");
    this.build(figure);
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.draw();
  }

  build(figure) {
    const data = this.data;
    const kinds = [...new Set((data.bands || []).map((band) => band.kind))];
    this.legend = element("div", { class: "legend", role: "group", "aria-label": "Lines" }, ...this.lines.map((line) => this.toggle(line)),
      ...kinds.map((kind) => element("span", {}, sample(shape("rect", { width: "14", height: "10", x: "7", class: "band-" + kind })), " " + kind)));
    this.area = element("div", {
      class: "area", tabindex: "0", role: "slider", "aria-label": data.title + ": " + data.x, "aria-describedby": this.id,
      "aria-valuemin": "0", "aria-valuemax": String(this.places.length - 1), "aria-valuenow": "0", "aria-valuetext": "no place chosen",
    });
    this.readout = element("p", { class: "readout" }, "Point at the chart, or use the arrow keys, to read values.");
    const alternative = this.static.getAttribute("aria-label");
    const table = element("details", {}, element("summary", {}, "The chart as a table"));
    table.addEventListener("toggle", () => table.open && table.children.length === 1 && this.fillTable(table));
    figure.append(element("div", { class: "chart" },
      element("p", { class: "title", id: this.id }, alternative || data.title), this.legend, this.area, this.readout, table));
    this.static.style.display = "none";
    this.area.addEventListener("pointermove", (event) => this.point(event));
    this.area.addEventListener("pointerdown", (event) => this.point(event));
    this.area.addEventListener("keydown", (event) => this.key(event));
  }

  // toggle returns a button that hides a line and shows it again.
  toggle(line) {
    const mark = this.data.dots ? shape("circle", { cx: "14", cy: "5", r: "4", class: "dot line-" + line.style })
      : shape("path", { d: "M0,5H28", class: "line line-" + line.style });
    const button = element("button", { type: "button", "aria-pressed": "true" }, sample(mark), " " + line.name + (line.samples ? ", n = " + line.samples.toLocaleString("en-US") : ""));
    button.addEventListener("click", () => {
      line.shown = !line.shown;
      button.setAttribute("aria-pressed", String(line.shown));
      this.draw();
    });
    return button;
  }

  // draw draws everything for the width that there is now.
  draw() {
    const width = Math.max(280, Math.round(this.area.clientWidth));
    const height = Math.round(Math.min(420, Math.max(260, width * 0.5)));
    if (!this.area.clientWidth) return; // the article is not shown
    const bottom = height - 44;
    const ys = this.lines.flatMap((line) => line.points.map((p) => p.y));
    const high = ys.reduce((a, b) => Math.max(a, b), 0);
    const low = ys.reduce((a, b) => Math.min(a, b), Infinity);
    const yTicks = this.data.nines ? decadeTicks(low, high) : linearTicks(high);
    const left = 34 + 7 * Math.max(...yTicks.map((tick) => digits(tick).length)); // the texts of the y axis, and its label
    const last = this.places[this.places.length - 1];
    const start = this.data.nines ? 0 : Math.min(0, this.places[0]);
    this.x = axis(start, last > start ? last : start + 1, left, width - 12, false);
    this.bottom = bottom;
    this.y = axis(yTicks[0], yTicks[yTicks.length - 1], bottom, 10, this.data.nines);
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width: String(width), height: String(height), "aria-hidden": "true" });
    this.drawBands(svg, bottom);
    this.drawAxes(svg, width, height, left, bottom, yTicks, last);
    for (const line of this.lines) if (line.shown) this.drawLine(svg, line);
    this.cursor = shape("g", {});
    svg.append(this.cursor);
    this.area.replaceChildren(svg);
    this.drawCursor();
  }

  drawAxes(svg, width, height, left, bottom, yTicks, last) {
    for (const tick of yTicks) {
      const y = this.y.place(tick);
      svg.append(shape("path", { d: `M${left},${y}H${width - 12}`, class: "grid" }),
        shape("text", { x: String(left - 6), y: String(y + 4), "text-anchor": "end" }, digits(tick)));
    }
    let free = -Infinity; // the texts of the x axis must not touch
    const xTicks = this.data.nines ? [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((n) => n <= last) : linearTicks(last).filter((v) => v <= last);
    for (const tick of xTicks) {
      const x = this.x.place(tick);
      const text = this.data.nines ? percentile(tick) : digits(tick);
      svg.append(shape("path", { d: `M${x},${bottom}v5`, class: "axis" }));
      if (x - text.length * 4 < free) continue;
      free = x + text.length * 4 + 6;
      svg.append(shape("text", { x: String(x), y: String(bottom + 18), "text-anchor": "middle" }, text));
    }
    svg.append(shape("path", { d: `M${left},10V${bottom}H${width - 12}`, class: "axis" }),
      shape("text", { x: String((left + width) / 2), y: String(height - 8), "text-anchor": "middle" }, this.data.x),
      shape("text", { transform: `translate(12 ${bottom / 2}) rotate(-90)`, "text-anchor": "middle" }, this.data.y));
  }

  // drawBands shades what went on: faults over the whole height, the work of stores as marks at the foot.
  drawBands(svg, bottom) {
    const heights = { fault: bottom - 10, flush: 16, compaction: 8 };
    for (const band of this.data.bands || []) {
      const from = this.x.place(band.from);
      const width = Math.max(1, this.x.place(band.to) - from);
      const height = heights[band.kind] || 8;
      svg.append(shape("rect", { x: String(from), y: String(bottom - height), width: String(width), height: String(height), class: "band-" + band.kind }));
    }
  }

  drawLine(svg, line) {
    if (this.data.dots) {
      for (const p of line.points) {
        svg.append(shape("circle", { cx: String(this.x.place(p.x)), cy: String(this.y.place(p.y)), r: "3.5", class: "dot line-" + line.style }));
      }
      return;
    }
    const d = line.points.map((p, i) => (i ? "L" : "M") + this.x.place(p.x).toFixed(1) + "," + this.y.place(p.y).toFixed(1)).join("");
    const dense = line.points.length > this.area.clientWidth ? " dense" : "";
    svg.append(shape("path", { d, class: "line line-" + line.style + dense }));
  }

  point(event) {
    const x = this.x.value(event.clientX - this.area.getBoundingClientRect().left);
    let best = 0;
    this.places.forEach((place, i) => {
      if (Math.abs(place - x) < Math.abs(this.places[best] - x)) best = i;
    });
    this.moveTo(best);
  }

  key(event) {
    const last = this.places.length - 1;
    const step = Math.max(1, Math.round(last / 200));
    const to = {
      ArrowRight: this.at + step, ArrowUp: this.at + step, ArrowLeft: this.at - step, ArrowDown: this.at - step,
      PageUp: this.at + 10 * step, PageDown: this.at - 10 * step, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.moveTo(Math.min(last, Math.max(0, to)));
  }

  moveTo(index) {
    this.at = index;
    this.drawCursor();
    const x = this.places[index];
    const values = this.lines.filter((line) => line.shown).map((line) => ({ line, point: nearest(line.points, x) })).filter((v) => v.point);
    const parts = values.map(({ line, point }) => `${line.name}: ${digits(point.y)}${this.unit}${point.note ? " (" + point.note + ")" : ""}`);
    const beside = (this.data.bands || []).filter((band) => band.from <= x && x <= band.to).map((band) => band.name);
    const place = this.data.nines ? "percentile " + percentile(x) : `${this.xName}: ${digits(x)}${this.xUnit}`;
    this.area.setAttribute("aria-valuenow", String(index));
    this.area.setAttribute("aria-valuetext", [place, ...parts, ...beside].join("; "));
    const shown = [...parts, ...new Set(beside)].slice(0, this.lines.length + 5);
    this.readout.replaceChildren(element("strong", {}, place), element("span", { class: "values" }, ...shown.map((part) => element("span", {}, part))));
  }

  drawCursor() {
    if (this.at < 0 || !this.cursor) return;
    const x = this.places[this.at];
    this.cursor.replaceChildren(shape("path", { d: `M${this.x.place(x)},10V${this.bottom}`, class: "cursor" }));
    for (const line of this.lines) {
      const p = line.shown && nearest(line.points, x);
      if (p) this.cursor.append(shape("circle", { cx: String(this.x.place(p.x)), cy: String(this.y.place(p.y)), r: "5", class: "dot line-" + line.style }));
    }
  }

  // fillTable shows the points as a table: of percentiles those that people name.
  fillTable(details) {
    const rows = [];
    if (this.data.nines) {
      const named = [Math.log10(2), 1, Math.log10(20), 2, 3, 4, 5, 6, 7, 8, 9];
      for (const n of named.filter((n) => n <= this.places[this.places.length - 1])) {
        rows.push([percentile(n), ...this.lines.map((line) => nearest(line.points, n)).map((p) => (p ? digits(p.y) : "–"))]);
      }
      rows.push(["largest", ...this.lines.map((line) => digits(line.points[line.points.length - 1].y))]);
    } else {
      const longest = this.lines.reduce((a, b) => (b.points.length > a.points.length ? b : a));
      for (const { x, note } of thinned(longest.points, tableRows)) {
        rows.push([digits(x), ...this.lines.map((line) => nearest(line.points, x)).map((p) => (p ? digits(p.y) : "–")), ...(longest.points[0].note ? [note] : [])]);
      }
      if (longest.points.length > tableRows) {
        details.append(element("p", {}, `${tableRows} of ${longest.points.length} points: of each part of the time the largest value.`));
      }
    }
    const heads = [this.data.x, ...this.lines.map((line) => line.name + ", " + this.data.y), ...(rows[0].length > this.lines.length + 1 ? ["what"] : [])];
    details.append(element("div", { class: "table", role: "group", tabindex: "0", "aria-label": "Values: " + this.data.title }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))))));
    makeSortable(details);
  }
}

// makeCharts draws the charts of an article, when it is shown first.
function makeCharts(article) {
  for (const figure of article.querySelectorAll("figure[data-chart]")) {
    const data = byId(figure.dataset.chart);
    if (figure.querySelector(".chart") || !data) continue;
    new Chart(figure, JSON.parse(data.textContent));
  }
}
