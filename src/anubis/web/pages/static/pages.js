// Keys, marks, theme and live parts. Every page works without this script.
"use strict";

const typing = (target) => target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
const rows = () => [...document.querySelectorAll("tr[data-row]")].filter((row) => row.offsetParent);
const say = (text) => { document.getElementById("notice").textContent = text; };

function move(step) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((row) => row.classList.contains("current"));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
  all.forEach((row) => row.classList.toggle("current", row === next));
  next.scrollIntoView({ block: "nearest" });
  const link = next.querySelector("[data-open]");
  if (link) link.focus({ preventScroll: true });
}

function current() { return document.querySelector("tr.current"); }

function mark() {
  const box = current()?.querySelector("input[type=checkbox]");
  if (!box) return;
  box.checked = !box.checked;
  say(`${document.querySelectorAll("td.mark input:checked").length} rows marked`);
}

function decide(name) {
  const button = document.querySelector(`[data-key="${name}"]`);
  if (button) {
    const form = button.closest("form");
    const why = form.querySelector("[name=why]");
    if (why && !why.value.trim()) { why.focus(); say("Write why, then press Enter"); form.dataset.pending = name; return; }
    button.click();
    return;
  }
  const link = current()?.querySelector("[data-open]");
  if (link && document.querySelector("[data-triage]")) location.assign(`${link.href}#decide`);
}

function nextError() {
  const found = [...document.querySelectorAll(".log .error")];
  if (!found.length) { say("No errors in the lines shown"); return; }
  const at = found.findIndex((line) => line.classList.contains("here"));
  document.querySelector(".log .here")?.classList.remove("here");
  const next = found[(at + 1) % found.length];
  next.classList.add("here");
  next.scrollIntoView({ block: "center" });
  say(`Error ${((at + 1) % found.length) + 1} of ${found.length}`);
}

const help = document.getElementById("help");
const KEYS = {
  "/": () => document.getElementById("find").focus(),
  "?": () => (help.open ? help.close() : help.showModal()),
  j: () => move(1),
  k: () => move(-1),
  x: mark,
  c: () => document.getElementById("marked")?.requestSubmit(),
  a: () => decide("ack"),
  b: () => decide("accept"),
  m: () => decide("mute"),
  e: nextError,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
  if (typing(event.target)) return;
  const act = KEYS[event.key];
  if (act && !(help.open && event.key !== "?")) { event.preventDefault(); act(); }
});
// A decision that was chosen by key before its reason was written is sent with Enter.
document.addEventListener("submit", (event) => {
  const pending = event.target.dataset.pending;
  if (pending && event.submitter && event.submitter.dataset.key !== pending) {
    delete event.target.dataset.pending;
    event.preventDefault();
    event.target.querySelector(`[data-key="${pending}"]`).click();
  }
});
document.querySelectorAll("[data-next-error]").forEach((button) => { button.hidden = false; button.addEventListener("click", nextError); });

const helpButton = document.querySelector("[data-help-button]");
if (helpButton) { helpButton.hidden = false; helpButton.addEventListener("click", KEYS["?"]); }
const themeButton = document.querySelector("[data-theme-button]");
if (themeButton) {
  themeButton.hidden = false;
  const root = document.documentElement;
  const now = () => root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const name = () => { themeButton.textContent = now() === "dark" ? "Light" : "Dark"; themeButton.setAttribute("aria-label", `Use the ${now() === "dark" ? "light" : "dark"} theme`); };
  name();
  themeButton.addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    try { localStorage.setItem("anubis-theme", root.dataset.theme); } catch { /* storage is switched off */ }
    name();
  });
}

// Live parts: after an event of any run, elements with hx-trigger="changed from:body" load themselves again.
function live(element, state) {
  element.dataset.state = state;
  element.textContent = state;
}

const followed = document.querySelector("[data-changes]");
if (followed) {
  const source = new EventSource(followed.dataset.changes);
  let waiting = 0;
  source.onopen = () => live(followed, "live");
  source.onerror = () => live(followed, "reconnecting");
  source.addEventListener("changed", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => document.body.dispatchEvent(new Event("changed")), 300);
  });
}

// Marks and the current row remain when rows are loaded again.
let kept = null;
document.addEventListener("htmx:beforeSwap", () => {
  kept = { marked: [...document.querySelectorAll("td.mark input:checked")].map((box) => box.value), row: current()?.dataset.id };
});
document.addEventListener("htmx:afterSwap", () => {
  if (!kept) return;
  document.querySelectorAll("td.mark input").forEach((box) => { box.checked = kept.marked.includes(box.value); });
  rows().find((row) => kept.row && row.dataset.id === kept.row)?.classList.add("current");
  kept = null;
});

// The output of a run: lines are added as text; the oldest ones are dropped, so that a page stays small.
const log = document.querySelector("[data-log]");
if (log) {
  const MOST = 5000;
  log.scrollTop = location.hash ? log.scrollTop : log.scrollHeight;
  if (log.dataset.log) follow(log, document.querySelector("[data-log-state]"), MOST);
}

function follow(box, mark, most) {
  const source = new EventSource(box.dataset.log);
  let waiting = [];
  let frame = 0;
  const show = () => {
    frame = 0;
    const bottom = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    const fresh = document.createDocumentFragment();
    for (const line of waiting.slice(-most)) {
      const row = document.createElement("div");
      row.className = `${line.stream}${line.error ? " error" : ""}`;
      const time = document.createElement("span");
      time.className = "faint";
      time.textContent = line.time;
      const text = document.createElement("span");
      text.textContent = line.text;
      row.append(time, text);
      fresh.append(row);
    }
    waiting = [];
    box.append(fresh);
    while (box.children.length > most) box.firstElementChild.remove();
    if (bottom) box.scrollTop = box.scrollHeight;
  };
  source.onopen = () => live(mark, "live");
  source.onerror = () => live(mark, "reconnecting");
  source.addEventListener("lines", (event) => {
    waiting.push(...JSON.parse(event.data).lines);
    frame ||= requestAnimationFrame(show);
  });
  source.addEventListener("end", () => {
    source.close();
    live(mark, "ended");
    setTimeout(() => document.body.dispatchEvent(new Event("changed")), 300);
  });
}

// A problem of a descriptor leads to its place in the editor.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-line]");
  const editor = document.querySelector("[data-editor]");
  if (!button || !editor) return;
  const before = editor.value.split("\n").slice(0, Number(button.dataset.line) - 1);
  const start = before.reduce((sum, line) => sum + line.length + 1, 0) + Number(button.dataset.column) - 1;
  editor.focus();
  editor.setSelectionRange(start, editor.value.indexOf("\n", start) < 0 ? editor.value.length : editor.value.indexOf("\n", start));
  editor.scrollTop = Math.max(0, before.length - 6) * parseFloat(getComputedStyle(editor).lineHeight);
});
