// The jobs of this server, live. The list is read once and then every few seconds; a job that is not over is followed
// by its event stream. All text from the server goes in as text nodes, never as markup.

const FINAL = new Set(["succeeded", "failed", "cancelled"]);
// Browsers open six connections to a server over HTTP/1.1: four streams leave two for everything else.
const STREAMS = 4;
const POLL_MS = 3000;
const PAGE = 20;

const $ = (id) => document.getElementById(id);
const cards = new Map(); // job id → its <li>
const jobs = new Map(); // job id → the job as last seen
const streams = new Map(); // job id → its EventSource
const rereads = new Map(); // job id → whether it was asked for once more
let older = null; // cursor of the jobs below the last one shown
let poll = 0;

class Unauthorized extends Error {}

async function api(path, options = {}) {
  const headers = options.body ? { "Content-Type": "application/json" } : {};
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "same-origin" });
  } catch {
    throw new Error("The server does not answer. Trying again.");
  }
  if (response.status === 401) throw new Unauthorized();
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail ?? `The server answered ${response.status} ${response.statusText}.`);
  }
  return response.status === 204 ? null : response.json();
}

// ── building ────────────────────────────────────────────────────────────────────────────────────────────────────

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const badge = (state) => element("span", { class: `badge ${state}` }, state);

function moment(iso) {
  const date = new Date(iso);
  return element("time", { datetime: iso, title: date.toLocaleString() }, date.toLocaleTimeString());
}

function duration(start, end) {
  const seconds = (new Date(end) - new Date(start)) / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** A fault in a text comes with its line, caret and help as one rendering; any other as its parts. */
function problemView(problem) {
  if (problem.rendered) {
    return element("pre", { class: "failure", tabindex: "0", "aria-label": "What is wrong, and where" }, problem.rendered);
  }
  return element(
    "div",
    {},
    element("p", { class: "failure" }, element("span", { class: "mono" }, problem.code), ` ${problem.detail}`),
    problem.help ? element("p", {}, problem.help) : null,
    problem.caused_by ? element("p", { class: "muted" }, `caused by ${problem.caused_by}`) : null,
  );
}

function progressView(task) {
  const fraction = task.progress?.fraction ?? 0;
  const phase = task.progress?.phase ?? "starting";
  return element(
    "div",
    { class: "row", "data-progress": task.id },
    element("progress", { max: "1", value: String(fraction), "aria-label": `Progress of ${task.target}` }),
    element("span", { class: "muted phase" }, `${Math.round(fraction * 100)} % ${phase}`),
  );
}

function taskView(task) {
  const tries = task.attempt > 1 ? `, attempt ${task.attempt}` : "";
  const took = task.ended_at && task.attempts.length
    ? `, ${duration(task.attempts.at(-1).started_at, task.ended_at)}`
    : "";
  return element(
    "li",
    {},
    element(
      "div",
      { class: "row spread" },
      element(
        "span",
        {},
        element("strong", { class: "mono" }, task.target),
        element("span", { class: "muted" }, ` ${task.cpu}${tries}${took}`),
      ),
      badge(task.state),
    ),
    task.state === "running" ? progressView(task) : null,
    task.artifact
      ? element(
          "p",
          { class: "muted" },
          "bundle ",
          element("a", { href: `/v1/artifacts/${task.artifact}/bundle`, class: "mono", download: true, "data-focus": task.id },
            task.artifact.slice(0, 16)),
        )
      : null,
    task.problem ? problemView(task.problem) : null,
  );
}

function jobView(job) {
  const took = job.ended_at ? `, took ${duration(job.created_at, job.ended_at)}` : "";
  return [
    element(
      "div",
      { class: "row spread" },
      element("h3", {}, `${job.model} version ${job.version}`),
      element(
        "span",
        { class: "row" },
        badge(job.state),
        FINAL.has(job.state)
          ? null
          : element("button", { type: "button", "data-focus": "cancel", onclick: () => cancel(job) }, "Cancel"),
      ),
    ),
    element(
      "p",
      { class: "muted" },
      "posted ",
      moment(job.created_at),
      `${took}, -O${job.options.opt_level}, job `,
      element("span", { class: "mono" }, job.id),
    ),
    element("ul", { class: "tasks" }, ...job.tasks.map(taskView)),
  ];
}

// ── showing ─────────────────────────────────────────────────────────────────────────────────────────────────────

function show(job) {
  const before = jobs.get(job.id);
  if (before && JSON.stringify(before) === JSON.stringify(job)) return;
  jobs.set(job.id, job);
  if (before && before.state !== job.state) {
    $("announcement").textContent = `${job.model} version ${job.version}: ${job.state}`;
  }
  const card = cards.get(job.id) ?? element("li", {});
  const focused = card.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  card.replaceChildren(...jobView(job));
  if (focused) card.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
  cards.set(job.id, card);
}

function arrange() {
  const state = $("state").value;
  const newestFirst = [...jobs.values()].sort((a, b) => b.created_at.localeCompare(a.created_at));
  const shown = newestFirst.filter((job) => !state || job.state === state);
  const list = $("jobs");
  shown.forEach((job, index) => {
    const card = cards.get(job.id);
    if (list.children[index] !== card) list.insertBefore(card, list.children[index] ?? null);
  });
  while (list.children.length > shown.length) list.lastChild.remove();
  $("empty").hidden = shown.length > 0;
  $("empty-help").hidden = jobs.size > 0;
  $("empty-text").textContent = jobs.size ? `No job is ${state}.` : "No job yet. Upload a model and compile it:";
  $("more").hidden = older === null;
  follow(newestFirst.filter((job) => !FINAL.has(job.state)).slice(0, STREAMS));
}

function fail(error) {
  if (error instanceof Unauthorized) {
    for (const id of [...streams.keys()]) leave(id);
    $("board").hidden = true;
    $("session").hidden = false;
    $("connection").textContent = "Signed out";
    $("failure").hidden = true;
    $("key").focus();
    return;
  }
  $("failure").textContent = error.message;
  $("failure").hidden = false;
  $("connection").textContent = "Not connected";
}

function connected() {
  $("failure").hidden = true;
  $("session").hidden = true;
  $("board").hidden = false;
  $("connection").textContent = streams.size ? "Live" : "Connected";
}

// ── following ───────────────────────────────────────────────────────────────────────────────────────────────────

function leave(id) {
  streams.get(id)?.close();
  streams.delete(id);
}

function follow(wanted) {
  const ids = new Set(wanted.map((job) => job.id));
  for (const id of [...streams.keys()]) if (!ids.has(id)) leave(id);
  for (const id of ids) {
    if (streams.has(id)) continue;
    const source = new EventSource(`/v1/jobs/${encodeURIComponent(id)}/events`);
    const reread = () => refresh(id);
    source.addEventListener("job", reread);
    source.addEventListener("task", reread);
    source.addEventListener("progress", (event) => advance(id, JSON.parse(event.data)));
    // EventSource reconnects by itself with Last-Event-ID; one that gave up is opened again at the next poll.
    source.addEventListener("error", () => source.readyState === EventSource.CLOSED && streams.delete(id));
    streams.set(id, source);
  }
}

/** Reads a job again, once however many events ask for it while the answer is on its way. */
async function refresh(id) {
  if (rereads.has(id)) {
    rereads.set(id, "again");
    return;
  }
  rereads.set(id, "once");
  try {
    show(await api(`/v1/jobs/${encodeURIComponent(id)}`));
    arrange();
  } catch (error) {
    fail(error);
  }
  const asked = rereads.get(id);
  rereads.delete(id);
  if (asked === "again") await refresh(id);
}

/** Moves one bar without rebuilding the card, so that nothing under the reader's hands is replaced. */
function advance(id, event) {
  const job = jobs.get(id);
  const task = job?.tasks.find((candidate) => candidate.id === event.task);
  if (!task || !event.progress || task.state !== "running") return;
  task.progress = event.progress;
  cards.get(id).querySelector(`[data-progress="${CSS.escape(task.id)}"]`)?.replaceWith(progressView(task));
}

async function cancel(job) {
  try {
    show(await api(`/v1/jobs/${encodeURIComponent(job.id)}/cancel`, { method: "POST" }));
    arrange();
  } catch (error) {
    fail(error);
  }
}

async function readList() {
  clearTimeout(poll);
  try {
    const page = await api(`/v1/jobs?limit=${PAGE}`);
    if (jobs.size === 0) older = page.next ?? null;
    page.items.forEach(show);
    arrange();
    connected();
  } catch (error) {
    fail(error);
    if (error instanceof Unauthorized) return;
  }
  poll = setTimeout(readList, POLL_MS);
}

async function readOlder() {
  try {
    const page = await api(`/v1/jobs?limit=${PAGE}&cursor=${encodeURIComponent(older)}`);
    older = page.next ?? null;
    page.items.forEach(show);
    arrange();
  } catch (error) {
    fail(error);
  }
}

async function signIn(event) {
  event.preventDefault();
  const failure = $("session-failure");
  failure.hidden = true;
  try {
    await api("/v1/session", { method: "POST", body: JSON.stringify({ key: $("key").value }) });
    $("key").value = "";
    await readList();
    $("jobs").focus();
  } catch (error) {
    failure.textContent = error instanceof Unauthorized ? "The server does not know this key." : error.message;
    failure.hidden = false;
    $("key").select();
  }
}

$("empty-help").textContent = `from rlx_client import RLXClient

rlx = RLXClient(endpoints=["${location.origin}"])
rlx.upload("net", "net.rlx", "net.safetensors")
rlx.compile("net", ["llvm", "c"])`;
$("session").addEventListener("submit", signIn);
$("state").addEventListener("change", arrange);
$("more").addEventListener("click", readOlder);
document.addEventListener("visibilitychange", () => document.hidden || readList());
readList();
