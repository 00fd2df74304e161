// The script of the plot page: a strip for each metric, drawn by uPlot; bands, a readout and keys of our own.
// Its data is the JSON that plot_html.cc writes into the page. It asks nothing of the network and keeps nothing.
import uPlot from "uplot";

interface Metric {
  label: string;
  class: string;
  mean?: number;
  values?: number[]; // by point; absent: not modelled
}
interface Band {
  name: string;
  begin: number;
  end: number;
}
interface Data {
  program: string;
  starts: number[]; // by point, in instructions
  end: number; // of the last point
  windows: number[]; // by point: how many windows it is made of
  metrics: Metric[];
  phases: Band[];
  regions: Band[][]; // by depth
  csv: string;
}
interface Strip {
  plot: uPlot;
  value: HTMLElement;
  values: number[];
}

const kStripHeight = 120;
const kGutter = 76; // width of the scales; page.css leaves as much beside the bands

const data = JSON.parse(document.getElementById("data")!.textContent!) as Data;
const points = data.starts.length;
const first = data.starts[0];
const strips: Strip[] = [];
let shown: [number, number] = [first, data.end]; // the stretch that all strips show
let current = -1; // the point under the cursor

function element<K extends keyof HTMLElementTagNameMap>(name: K, className = "", text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const count = (n: number) => n.toLocaleString("en-GB");

/** Four significant digits, as everywhere in zeroskid. */
function rateText(rate: number): string {
  if (rate === 0) return "0";
  const beforePoint = Math.floor(Math.log10(Math.abs(rate))) + 1;
  const decimals = Math.min(Math.max(4 - beforePoint, 0), 6);
  return rate.toLocaleString("en-GB", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function placeText(place: number): string {
  const prefixes = ["", " k", " M", " G", " T"];
  let unit = 1;
  let prefix = 0;
  while (prefix + 1 < prefixes.length && place / unit >= 1000) {
    unit *= 1000;
    ++prefix;
  }
  return `${+(place / unit).toFixed(3)}${prefixes[prefix]}`;
}

/** The point that holds a place: the last that begins at or before it. */
function pointAt(place: number): number {
  let low = 0;
  let high = points - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (data.starts[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

const endOf = (point: number) => (point + 1 < points ? data.starts[point + 1] : data.end);
const firstWindow: number[] = [];
data.windows.reduce((before, windows, i) => ((firstWindow[i] = before + 1), before + windows), 0);

// ---- what stands under the cursor

const readout = element("p", "readout");
readout.setAttribute("role", "status");
readout.setAttribute("aria-live", "polite");
const kHint = "Point at a strip, or focus the figure and use the arrow keys. Drag to zoom, Escape to see all.";

function bandNames(bands: Band[], place: number): string[] {
  return bands.filter((band) => band.begin <= place && place < band.end).map((band) => band.name);
}

function show(point: number): void {
  current = point;
  if (point < 0) {
    readout.textContent = kHint;
    for (const strip of strips) strip.value.textContent = "";
    return;
  }
  const start = data.starts[point];
  const windows = data.windows[point];
  const named = windows === 1 ? `window ${firstWindow[point]}`
                              : `windows ${firstWindow[point]} to ${firstWindow[point] + windows - 1}`;
  const words = [`${named}, instructions ${count(start)} to ${count(endOf(point))}`];
  for (const phase of bandNames(data.phases, start)) words.push(`phase ${phase}`);
  const regions = data.regions.flatMap((row) => bandNames(row, start));
  if (regions.length > 0) words.push(regions.join(" > "));
  for (const strip of strips) strip.value.textContent = rateText(strip.values[point]);
  readout.textContent = words.join("; ");
}

// ---- bands above the strips

const bands = element("div", "bands");
function drawBandRow(row: HTMLElement, of: Band[], kind: string): void {
  const scale = row.clientWidth / (shown[1] - shown[0]);
  row.replaceChildren();
  of.forEach((band, i) => {
    const begin = Math.max(band.begin, shown[0]);
    const end = Math.min(band.end, shown[1]);
    const width = (end - begin) * scale;
    if (end <= begin) return;
    const name = kind === "phase" ? `phase ${band.name}` : band.name;
    const drawn = element("span", `band ${kind} ${i % 2 === 0 ? "even" : "odd"}`, width > 24 ? name : "");
    drawn.title = `${name}: instructions ${count(band.begin)} to ${count(band.end)}`;
    drawn.style.left = `${(begin - shown[0]) * scale}px`;
    drawn.style.width = `${Math.max(width, 1)}px`;
    row.append(drawn);
  });
}

const bandRows: (() => void)[] = [];
function addBandRow(title: string, of: Band[], kind: string): void {
  const line = element("div", "band-line");
  line.append(element("span", "band-title", title));
  const row = element("div", "band-row");
  line.append(row);
  bands.append(line);
  bandRows.push(() => drawBandRow(row, of, kind));
}

// ---- strips

function tintPhases(plot: uPlot): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  data.phases.forEach((phase, i) => {
    const left = plot.valToPos(phase.begin, "x", true);
    ctx.fillStyle = colour(i % 2 === 0 ? "even" : "odd");
    ctx.fillRect(left, bbox.top, plot.valToPos(phase.end, "x", true) - left, bbox.height);
    ctx.fillStyle = colour("rule");
    if (i > 0) ctx.fillRect(left, bbox.top, devicePixelRatio, bbox.height);
  });
  ctx.restore();
}

/** Estimates are hatched, so that they are told from counts without colour. */
function hatched(): CanvasPattern | string {
  const tile = element("canvas");
  tile.width = tile.height = 8;
  const ctx = tile.getContext("2d")!;
  ctx.strokeStyle = colour("line");
  ctx.beginPath();
  for (const offset of [-8, 0, 8]) {
    ctx.moveTo(offset, 8);
    ctx.lineTo(offset + 8, 0);
  }
  ctx.stroke();
  return ctx.createPattern(tile, "repeat") ?? colour("fill");
}

let followed = false; // the strips are being told what one of them shows
function follow(source: uPlot): void {
  if (followed) return;
  followed = true;
  shown = [source.scales.x.min!, source.scales.x.max!];
  for (const { plot } of strips) if (plot !== source) plot.setScale("x", { min: shown[0], max: shown[1] });
  for (const draw of bandRows) draw();
  followed = false;
}

const axisInk = () => colour("soft");
const axisRule = () => colour("rule");

function stripOptions(metric: Metric, last: boolean, width: number): uPlot.Options {
  const estimated = metric.class === "estimated";
  return {
    width,
    height: last ? kStripHeight + 26 : kStripHeight,
    legend: { show: false },
    padding: [8, 8, last ? 0 : 6, 0],
    scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [
      { show: last, size: 26, stroke: axisInk, ticks: { stroke: axisRule, size: 4 }, grid: { show: false },
        values: (_plot, places) => places.map(placeText) },
      { size: kGutter, stroke: axisInk, ticks: { stroke: axisRule, size: 4 }, grid: { stroke: axisRule, width: 0.5 },
        space: 28, values: (_plot, rates) => rates.map((rate) => `${+rate.toPrecision(6)}`) },
    ],
    series: [
      {},
      { stroke: () => colour("line"), width: 1.4, points: { show: false }, dash: estimated ? [5, 2] : undefined,
        fill: () => (estimated ? (hatched() as string) : colour("fill")), paths: uPlot.paths.stepped!({ align: 1 }) },
    ],
    cursor: {
      y: false,
      drag: { x: true, y: false },
      sync: { key: "strips", scales: ["x", null] },
      points: { size: 8, fill: () => colour("line") },
      // The step that begins left of the pointer is the window under it; the last value only closes the last step.
      dataIdx: (_plot, _series, _closest, place) => pointAt(place),
    },
    hooks: {
      drawClear: [tintPhases],
      setScale: [(plot, key) => key === "x" && follow(plot)],
      setCursor: [(plot) => show(plot.cursor.left! < 0 ? -1 : pointAt(plot.posToVal(plot.cursor.left!, "x")))],
    },
  };
}

/** A point and both its edges: the last value is repeated, so that the last step has its length. */
function columns(values: number[]): uPlot.AlignedData {
  return [[...data.starts, data.end], [...values, values[points - 1]]];
}

function addStrip(into: HTMLElement, metric: Metric, values: number[], last: boolean): void {
  const section = element("section", "strip");
  const heading = element("h2", "", metric.label);
  const about = `${metric.class}; mean ${rateText(metric.mean!)}`;
  heading.append(" ", element("small", "", about));
  const value = element("output", "value");
  heading.append(value);
  const chart = element("div", "chart");
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${metric.label}, ${about}; by phase in the table below`);
  section.append(heading, chart);
  into.append(section);
  const plot = new uPlot(stripOptions(metric, last, into.clientWidth), columns(values), chart);
  strips.push({ plot, value, values });
}

// ---- zoom and keys

function zoom(low: number, high: number): void {
  const least = (data.end - first) / points / 2;
  if (high - low < least) return;
  strips[0]?.plot.setScale("x", { min: Math.max(low, first), max: Math.min(high, data.end) });
}

function moveTo(point: number): void {
  const to = Math.min(Math.max(point, 0), points - 1);
  const middle = (data.starts[to] + endOf(to)) / 2;
  if (middle < shown[0] || middle > shown[1]) {
    const half = (shown[1] - shown[0]) / 2;
    const centre = Math.min(Math.max(middle, first + half), data.end - half);
    zoom(centre - half, centre + half);
  }
  for (const { plot } of strips) plot.setCursor({ left: plot.valToPos(middle, "x"), top: 4 });
}

function zoomBy(factor: number): void {
  const at = current < 0 ? (shown[0] + shown[1]) / 2 : (data.starts[current] + endOf(current)) / 2;
  zoom(at - (at - shown[0]) * factor, at + (shown[1] - at) * factor);
}

function phaseStep(step: number): void {
  const now = data.phases.findIndex((phase) => current >= 0 && data.starts[current] < phase.end);
  const to = data.phases[Math.min(Math.max(now < 0 ? 0 : now + step, 0), data.phases.length - 1)];
  moveTo(pointAt(to.begin));
}

const kKeys: Record<string, (far: boolean) => void> = {
  ArrowLeft: (far) => moveTo((current < 0 ? pointAt(shown[0]) : current) - (far ? 10 : 1)),
  ArrowRight: (far) => moveTo(current < 0 ? pointAt(shown[0]) : current + (far ? 10 : 1)),
  Home: () => moveTo(0),
  End: () => moveTo(points - 1),
  PageUp: () => phaseStep(-1),
  PageDown: () => phaseStep(1),
  "+": () => zoomBy(0.5),
  "=": () => zoomBy(0.5),
  "-": () => zoomBy(2),
  Escape: () => zoom(first, data.end),
};

// ---- the window table, made when it is first opened: thousands of rows

function windowTable(): HTMLElement {
  const lines = data.csv.trimEnd().split("\n");
  const table = element("table");
  const head = table.createTHead().insertRow();
  for (const name of ["first window", "windows", "start", "end", "phase", ...data.metrics.map((m) => m.label)]) {
    const cell = element("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = table.createTBody();
  for (const line of lines.slice(1)) {
    const row = body.insertRow();
    for (const text of line.split(",")) row.insertCell().textContent = text;
  }
  return table;
}

function addWindowTable(): void {
  const details = element("details");
  details.append(element("summary", "", "All windows as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    const frame = element("div", "table");
    frame.tabIndex = 0;
    frame.append(windowTable());
    details.append(frame);
  });
  document.querySelector("main")!.append(details);
}

// ---- buttons

function download(name: string, type: string, text: string): void {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const kThemes = ["auto", "light", "dark"];
function nextTheme(button: HTMLButtonElement): void {
  const root = document.documentElement;
  const next = kThemes[(kThemes.indexOf(root.dataset.theme ?? "auto") + 1) % kThemes.length];
  root.dataset.theme = next;
  button.textContent = `Colours: ${next}`;
  redraw();
}

function addButtons(into: HTMLElement): void {
  const bar = element("div", "buttons");
  const button = (text: string, act: (button: HTMLButtonElement) => void) => {
    const made = element("button", "", text);
    made.type = "button";
    made.addEventListener("click", () => act(made));
    bar.append(made);
  };
  button("Show all", () => zoom(first, data.end));
  button("Save CSV", () => download("windows.csv", "text/csv", data.csv));
  button("Save SVG", () => download("windows.svg", "image/svg+xml", document.querySelector("noscript")!.textContent!.trim()));
  button("Colours: auto", nextTheme);
  into.append(bar);
}

function redraw(): void {
  for (const { plot } of strips) plot.redraw(false, true);
}

function layOut(width: number): void {
  for (const { plot } of strips) plot.setSize({ width, height: plot.height });
  for (const draw of bandRows) draw();
}

function start(): void {
  const figure = document.getElementById("figure")!;
  figure.tabIndex = 0;
  figure.setAttribute("role", "group");
  figure.setAttribute("aria-label", "Curves over the instructions. Arrow keys move from window to window, Page Up and Page " +
                                    "Down from phase to phase, plus and minus zoom, Escape shows all.");
  addButtons(figure);
  figure.append(readout);
  addBandRow("phases", data.phases, "phase");
  data.regions.forEach((row, depth) => addBandRow(depth === 0 ? "regions" : "", row, "region"));
  figure.append(bands);
  const modelled = data.metrics.filter((metric) => metric.values);
  modelled.forEach((metric, i) => addStrip(figure, metric, metric.values!, i + 1 === modelled.length));
  figure.append(element("p", "axis-title", "instructions of the thread"));
  for (const metric of data.metrics) {
    if (!metric.values) figure.append(element("p", "missing", `not modelled: ${metric.label}`));
  }
  figure.addEventListener("keydown", (event) => {
    const act = kKeys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target !== figure) return;
    event.preventDefault();
    act(event.shiftKey);
  });
  addWindowTable();
  show(-1);
  layOut(figure.clientWidth);
  new ResizeObserver(() => layOut(figure.clientWidth)).observe(figure);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}

start();
