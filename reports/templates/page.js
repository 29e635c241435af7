"use strict";
// Opens a number's trail in a dialog, keeps predictions, filters the table. Text from data becomes text nodes only.
document.documentElement.classList.add("js");
const $ = (id) => document.getElementById(id);
const trails = unpacked(JSON.parse($("trails").textContent));
const panel = $("panel"), body = $("panel-body");
let current = null, opener = null;

// The page stores shared texts once and their places elsewhere: here they become what the rest of the script reads.
function unpacked(found) {
  const text = (at) => found.texts[at];
  const leaves = found.leaves.map((leaf) => ({
    ...leaf,
    raw: leaf.raw.map(([place, line, start, length]) => {
      const points = Array.from(text(line)); // places count characters, not UTF-16 units
      const [before, match, after] = [points.slice(0, start), points.slice(start, start + length), points.slice(start + length)];
      return { place: text(place), before: before.join(""), match: match.join(""), after: after.join("") };
    }),
  }));
  const numbers = {};
  for (const [id, number] of Object.entries(found.numbers)) {
    numbers[id] = {
      ...number,
      view: text(number.view), interval: text(number.interval), words: text(number.words),
      code: text(number.code), exactly: text(number.exactly),
      leaves: number.leaves.map((at) => leaves[at]), cases: number.cases.map(text),
      inputs: number.inputs.map(([name, value, place]) => ({ name, value, place: text(place) })),
    };
  }
  return { ...found, numbers };
}

function el(tag, text, name) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (name) node.className = name;
  return node;
}

function section(title, ...nodes) {
  const shown = nodes.flat().filter(Boolean);
  if (shown.length) body.append(el("h3", title), ...shown);
}

function svg(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function strip(leaf) {
  const values = leaf.samples.map((p) => p[0]);
  const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
  const words = `${values.length} samples, ${low.toLocaleString("en")} to ${high.toLocaleString("en")} ${leaf.unit}`;
  const plot = svg("svg", { viewBox: "0 0 320 62", class: "strip", role: "img", "aria-label": words });
  plot.append(svg("line", { x1: 4, x2: 316, y1: 58, y2: 58, stroke: "var(--line)" }));
  leaf.samples.forEach(([value, cold], i) => {
    const x = 8 + (304 * (i + 0.5)) / values.length, y = 52 - (44 * (value - low)) / span;
    const look = cold ? { fill: "none", stroke: "var(--c-cold)", "stroke-width": 2 } : { fill: "var(--c-warm)" };
    plot.append(svg("circle", { cx: x, cy: y, r: cold ? 4 : 3.2, ...look }));
  });
  const caption = `${words}, in the order measured.` + (leaf.samples.some((p) => p[1]) ? " Rings are cold." : "");
  return [plot, el("p", caption, "soft")];
}

function inputLine(entry) {
  const item = el("li");
  item.append(entry.name ? `${entry.name} = ` : "");
  if (trails.numbers[entry.place]) {
    const link = el("button", entry.value, "like-link");
    link.type = "button";
    link.addEventListener("click", () => open(entry.place));
    item.append(link, " · ", el("code", entry.place));
  } else item.append(`${entry.value} · `, el("code", entry.place));
  return item;
}

function rawBlock(leaf) {
  const blocks = leaf.raw.flatMap((raw) => {
    const pre = el("pre");
    pre.append(raw.before, el("mark", raw.match), raw.after);
    return [el("p", raw.place, "soft"), pre];
  });
  if (leaf.more) blocks.push(el("p", `and ${leaf.more} more such lines`, "soft"));
  return blocks;
}

function listOf(items) {
  if (!items.length) return null;
  const list = el("ul");
  list.append(...items);
  return list;
}

function fill(id) {
  const number = trails.numbers[id];
  body.replaceChildren();
  $("panel-title").textContent = number.label;
  body.append(el("p", number.shown, "big"), el("p", number.view, "soft"));
  for (const stamp of trails.run.stamps) body.append(el("p", stamp, "stamp"));
  section("Exactly", el("p", number.exactly), el("p", `Interval: ${number.interval}`));
  section("Formula", el("p", number.words), number.filled && el("pre", `${number.code}\n= ${number.filled}`));
  section("From", listOf(number.inputs.map(inputLine)));
  section("Constants", listOf(number.constants.map((c) => el("li", `${c[0]} = ${c[1]} · ${c[2]}`))));
  const leaves = number.leaves;
  section("Samples", leaves.filter((leaf) => leaf.samples.length).flatMap(strip));
  section("In the raw output", leaves.flatMap(rawBlock));
  for (const file of number.cases) {
    const source = trails.cases[file];
    if (!source) continue;
    section(source.title, source.commands.slice(0, 1).map((c) => el("pre", c)), el("p", source.model, "soft"),
      el("p", `${source.device} · ${source.when}`, "soft"), el("p", `${source.raw[0]} · sha256 ${source.raw[1]}`, "soft"));
  }
  section("Machine and engine", el("p", trails.run.machine), el("p", trails.run.engine));
  section("Notes", listOf(number.notes.map((note) => el("li", note))));
  body.scrollTop = 0;
}

function setHash(hash) {
  try { history.replaceState(null, "", hash || location.pathname + location.search); } catch { /* some viewers forbid it */ }
}

function open(id) {
  if (!trails.numbers[id]) return;
  current = id;
  fill(id);
  $("panel-status").textContent = "";
  if (!panel.open) panel.showModal();
  setHash(`#n-${id}`);
}

function openFromHash() {
  const id = decodeURIComponent(location.hash).replace(/^#n-/, "");
  if (location.hash.startsWith("#n-") && trails.numbers[id]) {
    opener = $(`n-${id}`);
    const folded = opener && opener.closest("details");
    if (folded) folded.open = true;
    if (opener) opener.scrollIntoView({ block: "center", behavior: "instant" });
    open(id);
  }
}

function plainText(id) {
  const number = trails.numbers[id];
  const lines = [`${number.label}: ${number.shown}`, number.exactly, `interval: ${number.interval}`, number.words];
  if (number.filled) lines.push(`${number.code} = ${number.filled}`);
  lines.push(...number.inputs.map((i) => `${i.name} = ${i.value} (${i.place})`));
  lines.push(...number.constants.map((c) => `${c[0]} = ${c[1]} (${c[2]})`));
  for (const leaf of number.leaves) {
    lines.push(...leaf.raw.map((raw) => `${raw.place}: ${raw.before}${raw.match}${raw.after}`));
  }
  for (const file of number.cases) {
    const source = trails.cases[file];
    if (source) lines.push(...source.commands.slice(0, 1), `${source.raw[0]} sha256 ${source.raw[1]}`, source.model, source.when);
  }
  return [...lines, trails.run.machine, trails.run.engine, trails.run.name, ...trails.run.stamps].join("\n");
}

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", text);
    panel.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  $("panel-status").textContent = said;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.number");
  if (button) {
    opener = button;
    open(button.dataset.number);
  }
});
panel.addEventListener("click", (event) => { if (event.target === panel) panel.close(); });
panel.addEventListener("close", () => { setHash(""); if (opener) opener.focus(); });
$("panel-close").addEventListener("click", () => panel.close());
$("panel-copy").addEventListener("click", () => copy(plainText(current), "Copied"));
$("panel-link").addEventListener("click", () => copy(location.href.split("#")[0] + `#n-${current}`, "Link copied"));
window.addEventListener("hashchange", openFromHash);

const find = $("find");
find.addEventListener("input", () => {
  const wanted = find.value.toLowerCase();
  for (const row of document.querySelectorAll("#all-numbers tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(wanted);
});

// Predictions: kept under the run's name where the browser allows it, else only as long as the page is open.
const key = `tokentrail:${trails.run.name}`;
let kept = {};
try { kept = JSON.parse(localStorage.getItem(key)) || {}; } catch { kept = {}; }
const keep = () => { try { localStorage.setItem(key, JSON.stringify(kept)); } catch { /* private mode or file:// rules */ } };
const questions = [...document.querySelectorAll(".question")];

function judged(question, guess) {
  const answer = Number(question.dataset.answer), unit = question.dataset.unit;
  if (unit === "%") return `You said ${guess} %: off by ${Math.abs(guess - answer).toFixed(0)} points.`;
  const off = Math.max(guess / answer, answer / guess);
  const how = off < 1.15 ? "very close" : `off by a factor of ${off < 10 ? off.toFixed(1) : off.toFixed(0)}`;
  return `You said ${guess} ${unit}: ${how}.`;
}

function scale(question, guess) {
  const low = Number(question.dataset.low), high = Math.max(Number(question.dataset.high), guess, Number(question.dataset.answer));
  const at = (value) => Math.min(100, Math.max(0, (100 * Math.log(Math.max(value, low) / low)) / Math.log(high / low)));
  const box = question.querySelector(".scale");
  box.replaceChildren();
  for (const [value, name, text] of [[guess, "guessed", "you"], [Number(question.dataset.answer), "measured", "measured"]]) {
    const dot = el("i", null, name), word = el("b", text, name);
    dot.style.left = word.style.left = `${at(value)}%`;
    box.append(dot, word);
  }
}

function lock(question, guess) {
  question.classList.add("locked");
  question.querySelectorAll("input, form button").forEach((node) => { node.disabled = true; });
  question.querySelector("input[type=number]").value = guess;
  question.querySelector(".verdict").textContent = judged(question, guess);
  scale(question, guess);
}

function progress() {
  const done = questions.filter((q) => q.classList.contains("locked")).length;
  if ($("progress")) $("progress").textContent = done ? `${done} of ${questions.length} answered.` : `${questions.length} questions.`;
}

for (const question of questions) {
  const low = Number(question.dataset.low), high = Number(question.dataset.high);
  const [slider, field] = question.querySelectorAll("input");
  const value = (at) => Number((low * Math.pow(high / low, at / 1000)).toPrecision(2));
  slider.addEventListener("input", () => {
    field.value = value(Number(slider.value));
    slider.setAttribute("aria-valuetext", `${field.value} ${question.dataset.unit}`);
  });
  field.addEventListener("input", () => {
    const typed = Number(field.value);
    if (typed > 0) slider.value = (1000 * Math.log(typed / low)) / Math.log(high / low);
  });
  question.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const guess = Number(field.value);
    if (!(guess > 0)) return;
    kept[question.dataset.key] = guess;
    keep();
    lock(question, guess);
    progress();
    question.querySelector(".answer .number").focus();
  });
  if (kept[question.dataset.key] > 0) lock(question, kept[question.dataset.key]);
}
if ($("again")) $("again").addEventListener("click", () => { kept = {}; keep(); location.hash = ""; location.reload(); });
progress();
openFromHash();
