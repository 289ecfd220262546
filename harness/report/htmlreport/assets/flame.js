// A flame graph of a profile, callers above the functions that they call: it is searched, and one call with all below it can fill the width.

const flameRow = 20; // pixels
const flameThin = 0.4; // narrower calls are not drawn
let flames = 0;

// callTree makes the tree of what the file has: three numbers for each call.
function callTree(data) {
  let next = 0;
  const read = (caller, start) => {
    const [name, value, count] = data.calls.slice(next, next + 3);
    next += 3;
    const call = { name: data.functions[name], value, caller, start, depth: caller ? caller.depth + 1 : 0, calls: [] };
    let from = start;
    for (let i = 0; i < count; i++) {
      const callee = read(call, from);
      from += callee.value;
      call.calls.push(callee);
    }
    return call;
  };
  const root = read(null, 0);
  root.name = "all";
  return root;
}

// amount shows a value of a profile in the multiple of its unit that fits.
function amount(value, unit) {
  const multiples = {
    nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  }[unit] || [[1, unit]];
  const [size, name] = multiples.find(([from]) => value >= from) || multiples[multiples.length - 1];
  return digits(value / size) + " " + name;
}

// areaOf says whose function it is, for its colour.
function areaOf(name) {
  if (/^(runtime|syscall|linux|poll|sync|atomic|io|time|gcWriteBarrier)\b/.test(name)) return "runtime";
  if (/^(pebble|sstable|record|vfs|batchrepr|arenaskl|manifest|block)\b/.test(name)) return "store";
  if (/^(grpc|transport|http2?|net|protobuf|proto|impl|protowire|raft|tls|bufio|mem)\b/.test(name)) return "network";
  return name.startsWith("(") || name === "all" ? "none" : "own";
}

class Flame {
  constructor(figure, data) {
    this.unit = data.unit;
    this.root = callTree(data);
    this.top = this.root; // the call that fills the width
    this.focus = this.root;
    this.sought = "";
    this.id = "ui-flame-" + ++flames;
    this.build(figure, data.title);
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.draw();
  }

  build(figure, title) {
    const search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    this.all = element("button", { type: "button", disabled: "" }, "Show all");
    this.found = element("span", { class: "found", role: "status" });
    this.area = element("div", { class: "area flame", role: "tree", tabindex: "0", "aria-label": "Flame graph: " + title });
    this.readout = element("p", { class: "readout" }, "Click a call, or press Enter on it, to have it fill the width. Arrow keys move, Escape goes back.");
    figure.append(element("div", { class: "tools" }, element("label", {}, "Search ", search), this.all, this.found), this.area, this.readout);
    search.addEventListener("input", () => this.search(search.value));
    this.all.addEventListener("click", () => this.zoom(this.root));
    this.area.addEventListener("click", (event) => this.pick(event, true));
    this.area.addEventListener("pointermove", (event) => this.pick(event, false));
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("focus", () => this.say());
  }

  // shownCalls are the calls that are wide enough to be drawn: the callers of the top one, it, and those below it.
  shownCalls(width) {
    const shown = [];
    for (let c = this.top; c; c = c.caller) shown.unshift({ call: c, x: 0, width });
    const add = (call) => {
      for (const c of call.calls) {
        const w = (c.value / this.top.value) * width;
        if (w < flameThin) continue;
        shown.push({ call: c, x: ((c.start - this.top.start) / this.top.value) * width, width: w });
        add(c);
      }
    };
    add(this.top);
    return shown;
  }

  draw() {
    const width = this.area.clientWidth;
    if (!width) return; // the article is not shown
    this.boxes = this.shownCalls(width);
    const rows = Math.max(...this.boxes.map((box) => box.call.depth)) + 1;
    const svg = shape("svg", { viewBox: `0 0 ${width} ${rows * flameRow}`, width: String(width), height: String(rows * flameRow), role: "group" });
    this.names = shape("g", { class: "names", "aria-hidden": "true" }); // a call is read out with its whole name
    this.boxes.forEach((box, i) => svg.append(this.box(box, i)));
    svg.append(this.names);
    this.area.replaceChildren(svg);
    this.mark();
  }

  box(box, i) {
    const { call, x, width } = box;
    const classes = ["call", "area-" + areaOf(call.name)];
    if (this.sought && call.name.toLowerCase().includes(this.sought)) classes.push("match");
    const above = this.top !== call && this.top.start >= call.start && call.depth < this.top.depth;
    if (above) classes.push("above");
    box.node = shape("g", { id: `${this.id}-${i}`, role: "treeitem", "aria-level": String(call.depth + 1), "aria-label": this.describe(call), class: classes.join(" ") },
      shape("rect", { x: String(x), y: String(call.depth * flameRow), width: String(Math.max(width - 1, flameThin)), height: String(flameRow - 1) }));
    if (call.calls.length) box.node.setAttribute("aria-expanded", "true");
    const letters = Math.floor((width - 8) / 7);
    if (letters >= 3) {
      const name = call.name.length > letters ? call.name.slice(0, letters - 1) + "…" : call.name;
      this.names.append(shape("text", { x: String(x + 4), y: String(call.depth * flameRow + 14) }, name));
    }
    return box.node;
  }

  describe(call) {
    const share = (of) => digits((100 * call.value) / of.value) + " %";
    const part = this.top === this.root ? "" : `, ${share(this.top)} of ${this.top.name}`;
    return `${call.name}: ${amount(call.value, this.unit)}, ${share(this.root)} of all${part}`;
  }

  // mark shows which call the keyboard is at.
  mark() {
    const box = this.boxes.find((b) => b.call === this.focus) || this.boxes.find((b) => b.call === this.top);
    for (const b of this.boxes) b.node.classList.toggle("at", b === box);
    this.focus = box.call;
    this.area.setAttribute("aria-activedescendant", box.node.id);
    this.all.disabled = this.top === this.root;
  }

  say() {
    this.readout.textContent = this.describe(this.focus);
  }

  boxAt(event) {
    const area = this.area.getBoundingClientRect();
    const [x, row] = [event.clientX - area.left + this.area.scrollLeft, Math.floor((event.clientY - area.top + this.area.scrollTop) / flameRow)];
    return this.boxes.find((b) => b.call.depth === row && b.x <= x && x < b.x + b.width);
  }

  pick(event, click) {
    const box = this.boxAt(event);
    if (!box) return;
    if (click) {
      this.focus = box.call;
      this.zoom(box.call);
    } else {
      this.readout.textContent = this.describe(box.call);
    }
  }

  zoom(call) {
    this.top = call;
    this.focus = call;
    this.draw();
    this.say();
  }

  key(event) {
    const siblings = this.focus.caller && this.top !== this.focus ? this.focus.caller.calls : [this.focus];
    const at = siblings.indexOf(this.focus);
    const to = {
      ArrowDown: this.focus.calls[0], ArrowUp: this.focus.caller, ArrowRight: siblings[at + 1], ArrowLeft: siblings[at - 1], Home: this.root,
    };
    if (event.key === "Enter" || event.key === " ") this.zoom(this.focus);
    else if (event.key === "Escape") this.zoom(this.top.caller || this.root);
    else if (event.key in to) {
      const call = to[event.key];
      if (call && this.boxes.some((b) => b.call === call)) {
        this.focus = call;
        this.mark();
        this.say();
      }
    } else return;
    event.preventDefault();
  }

  // search marks the calls of functions with a text in their names, and says what share of all they have together.
  search(text) {
    this.sought = text.trim().toLowerCase();
    let value = 0;
    const add = (call) => {
      if (call.name.toLowerCase().includes(this.sought)) value += call.value;
      else call.calls.forEach(add);
    };
    if (this.sought) add(this.root);
    this.found.textContent = this.sought ? `${digits((100 * value) / this.root.value)} % of all is in or below such calls` : "";
    this.draw();
  }
}

// makeFlames draws the flame graphs of an article, when it is shown first.
function makeFlames(article) {
  for (const figure of article.querySelectorAll("figure[data-flame]")) {
    const data = byId(figure.dataset.flame);
    if (figure.querySelector(".flame") || !data) continue;
    new Flame(figure, JSON.parse(data.textContent));
  }
}
