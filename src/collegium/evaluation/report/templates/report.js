"use strict";
// Everything below writes text with textContent only: the data are untrusted.

const data = JSON.parse(document.getElementById("episode-data").textContent);
const PAGE = 50;

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/* Sortable tables: rows with a value by value, the others by text; marked rows stay below. */
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => head.firstChild.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const order = (a, b) => {
      const [x, y] = [a.cells[place], b.cells[place]];
      const [u, v] = [x.dataset.value, y.dataset.value];
      if ((u === undefined) !== (v === undefined)) return u === undefined ? 1 : -1;
      const sign = u === undefined ? x.textContent.localeCompare(y.textContent) : u - v;
      return down ? -sign : sign;
    };
    const rows = [...body.rows].sort(order);
    body.append(...rows.filter((r) => !r.classList.contains("aside")), ...rows.filter((r) => r.classList.contains("aside")));
  }));
}

/* Episodes, paired: one row a task-run, one column an arm. */
const arms = data.arms;
const runs = new Map();
for (const episode of data.episodes) {
  const name = JSON.stringify([episode.task, episode.agent, episode.offset]);
  if (!runs.has(name)) runs.set(name, { first: episode, byArm: new Map() });
  const byArm = runs.get(name).byArm;
  byArm.set(episode.arm, [...(byArm.get(episode.arm) || []), episode]);
}
const rows = [...runs.values()].sort((a, b) =>
  a.first.task.localeCompare(b.first.task) || a.first.agent.localeCompare(b.first.agent) || a.first.offset - b.first.offset);

function solvedIn(run, arm) {
  return (run.byArm.get(arm) || []).some((episode) => episode.success);
}

const outcomes = new Map([["any machinery failure", (run) => [...run.byArm.values()].flat().some((e) => e.machinery)]]);
for (const arm of arms) {
  outcomes.set("solved by " + arm, (run) => solvedIn(run, arm));
  outcomes.set("only by " + arm, (run) => solvedIn(run, arm) && arms.every((a) => a === arm || !solvedIn(run, a)));
  outcomes.set("not by " + arm, (run) => run.byArm.has(arm) && !solvedIn(run, arm));
}

const form = document.getElementById("filters");
const fill = (name, values) => form.elements[name].append(...values.map((value) => make("option", { value, textContent: value })));
fill("type", [...new Set(rows.map((run) => run.first.type))].sort());
fill("agent", [...new Set(rows.map((run) => run.first.agent))].sort());
fill("outcome", [...outcomes.keys()]);

function matches(run) {
  const { text, type, agent, outcome } = form.elements;
  const episode = run.first;
  const words = text.value.toLowerCase().split(/\s+/);
  const haystack = [episode.goal, episode.task, episode.agent, episode.type].join(" ").toLowerCase();
  return (!type.value || episode.type === type.value) && (!agent.value || episode.agent === agent.value)
    && (!outcome.value || outcomes.get(outcome.value)(run)) && words.every((word) => haystack.includes(word));
}

const table = document.getElementById("runs");
const head = make("tr");
for (const title of ["task", "type", "consumer", "offset", ...arms]) head.append(make("th", { scope: "col", textContent: title }));
table.tHead.append(head);

function outcomeText(episode) {
  if (episode.machinery) return "! " + episode.stop;
  return (episode.success ? "✓ " : "✗ ") + episode.steps.length + (episode.steps.length === 1 ? " step" : " steps");
}

function runRow(run) {
  const episode = run.first;
  const task = make("td", { textContent: episode.goal || episode.task }, make("small", { textContent: episode.task }));
  if (episode.source !== "official") task.append(make("small", { textContent: episode.source + " game" }));
  const row = make("tr", {}, task, ...[episode.type, episode.agent, episode.offset].map((text) => make("td", { textContent: text })));
  const reading = { row: null, shown: new Map() };
  for (const arm of arms) {
    const cell = make("td");
    for (const one of run.byArm.get(arm) || []) {
      const kind = one.machinery ? "open machinery" : one.success ? "open solved" : "open";
      const button = make("button", { type: "button", className: kind, textContent: outcomeText(one) });
      button.setAttribute("aria-expanded", "false");
      button.addEventListener("click", () => toggle(row, reading, one, button));
      cell.append(button, " ");
    }
    row.append(cell);
  }
  return row;
}

function toggle(row, reading, episode, button) {
  const opened = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!opened));
  if (opened) {
    reading.shown.get(episode).remove();
    reading.shown.delete(episode);
  } else {
    if (!reading.row) {
      reading.row = make("tr", { className: "reading" }, make("td", { colSpan: 4 + arms.length }, make("div", { className: "sides" })));
      row.after(reading.row);
    }
    reading.shown.set(episode, episodeView(episode));
    const inOrder = [...reading.shown].sort(([a], [b]) => arms.indexOf(a.arm) - arms.indexOf(b.arm)).map(([, view]) => view);
    reading.row.querySelector(".sides").append(...inOrder);
  }
  if (!reading.shown.size) { reading.row.remove(); reading.row = null; }
}

function episodeView(episode) {
  const title = make("h3", { className: "arm" }, make("i", { className: "arm-" + (arms.indexOf(episode.arm) % 6) }), episode.arm + " · " + outcomeText(episode));
  const cached = episode.prompt ? Math.round(100 * episode.cached / episode.prompt) : 0;
  const facts = [
    episode.agent, episode.stop, episode.split, episode.seconds + " s", episode.calls + " calls",
    episode.prompt + " prompt tokens (" + cached + " % cached)", episode.completion + " completion tokens",
    ...(episode.cost ? ["$" + episode.cost.toFixed(4)] : []), episode.versions, episode.key,
  ];
  const view = make("article", { className: "episode" }, title, make("div", { className: "facts", textContent: facts.join(" · ") }));
  if (episode.error) view.append(make("p", { className: "notice", textContent: episode.error }));
  view.append(make("p", { className: "observation start", textContent: data.texts[episode.start] }));
  const list = make("ol", { className: "steps" });
  let before = -1;
  episode.steps.forEach(([action, observation, guidance, asked, unread], place) => {
    const body = make("div");
    if (guidance >= 0 && (guidance !== before || asked)) body.append(guidanceView(data.guidance[guidance], guidance === before, asked));
    else if (guidance >= 0) body.append(make("span", { className: "hidden", textContent: "the same guidance is still in the prompt" }));
    else if (asked) body.append(make("div", { className: "same", textContent: "asked for guidance, none was found" }));
    const line = make("div", { className: "action", textContent: data.texts[action] });
    if (unread) line.append(make("span", { className: "flag", textContent: "answer held no action" }));
    body.append(line, make("p", { className: "observation", textContent: data.texts[observation] }));
    list.append(make("li", { className: guidance >= 0 ? "guided" : "" }, make("span", { textContent: place + 1 }), body));
    before = guidance;
  });
  view.append(list);
  return view;
}

function guidanceView(guidance, same, asked) {
  const source = "rank " + guidance.rank + ", by " + guidance.producer + ", distance " + guidance.score;
  if (same) return make("div", { className: "same", textContent: "retrieved again: " + source });
  return make("details", { className: "guidance" },
    make("summary", { textContent: (asked ? "retrieved: " : "shown: ") + source }),
    make("div", { className: "same", textContent: "chunk " + guidance.chunk }),
    make("pre", { textContent: data.texts[guidance.text] || "(the text was not stored)" }));
}

let found = rows;
let drawn = 0;
const more = document.getElementById("more");

function drawMore() {
  table.tBodies[0].append(...found.slice(drawn, drawn + PAGE).map(runRow));
  drawn = Math.min(drawn + PAGE, found.length);
  more.hidden = drawn === found.length;
  more.textContent = "Show " + Math.min(PAGE, found.length - drawn) + " more";
}

function refresh() {
  found = rows.filter(matches);
  drawn = 0;
  table.tBodies[0].replaceChildren();
  form.elements.count.textContent = found.length + " of " + rows.length + " task-runs";
  drawMore();
}

more.addEventListener("click", drawMore);
form.addEventListener("input", refresh);
form.addEventListener("submit", (event) => event.preventDefault());
refresh();
