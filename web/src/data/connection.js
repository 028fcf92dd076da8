// The stream of the server: opened for what is shown, opened again when it breaks, resumed where it stopped.
import { effect, signal } from "@preact/signals";
import { announce } from "./announcements.js";
import { route } from "./route.js";
import { readEvents } from "./server_events.js";
import { isExport, source } from "./source.js";
import { openLog, receive, refresh } from "./store.js";

/** state: live, connecting, offline, refused or export; `at`: when the server was last heard, in milliseconds. */
export const connection = signal({ state: isExport ? "export" : "connecting", at: 0, retryAt: 0 });

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
// The server sends a line every ten seconds; three that are missing are a dead connection.
const SILENCE_MS = 32_000;

let current = null;
let cursor = { path: "", id: "" };
let wasLost = false;

export function startConnection() {
  if (isExport) return;
  effect(() => {
    const { run } = route.value;
    const log = openLog.value;
    const parts = [run && `run=${encodeURIComponent(run)}`, log && log.run === run && `log=${encodeURIComponent(log.log)}`].filter(Boolean);
    open(`/api/stream${parts.length ? `?${parts.join("&")}` : ""}`);
  });
  addEventListener("online", () => reconnectNow());
  document.addEventListener("visibilitychange", () => !document.hidden && connection.peek().state === "offline" && reconnectNow());
}

export const reconnectNow = () => current && open(current.path);

function open(path) {
  current?.abort.abort();
  const mine = { path, abort: new AbortController() };
  current = mine;
  void keepOpen(mine);
}

async function keepOpen(mine) {
  let wait = FIRST_WAIT_MS;
  while (current === mine) {
    const began = Date.now();
    const outcome = await readOnce(mine);
    if (current !== mine) return;
    if (outcome === "refused") return set("refused");
    wasLost = true;
    if (Date.now() - began > LONGEST_WAIT_MS) wait = FIRST_WAIT_MS;
    set("offline", Date.now() + wait);
    await new Promise((resume) => setTimeout(resume, wait * (0.8 + 0.4 * Math.random())));
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  }
}

async function readOnce(mine) {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const beat = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
    if (current === mine) set("live");
  };
  try {
    const last = cursor.path === mine.path ? cursor.id : "";
    const answer = await source.stream(mine.path, last, AbortSignal.any([mine.abort.signal, silence.signal]));
    if (answer.status === 401 || answer.status === 403) return "refused";
    if (!answer.ok || !answer.body) return "lost";
    beat();
    await refresh();
    await readEvents(answer.body, (event) => note(mine, event), beat);
    return "lost";
  } catch {
    return "lost";
  } finally {
    clearTimeout(timer);
  }
}

function note(mine, event) {
  if (current !== mine) return;
  if (event.id) cursor = { path: mine.path, id: event.id };
  receive(event);
}

function set(state, retryAt = 0) {
  const before = connection.peek().state;
  connection.value = { state, at: state === "live" ? Date.now() : connection.peek().at, retryAt };
  if (state === before) return;
  if (state === "offline") announce("Connection lost. Reconnecting.");
  else if (state === "live" && wasLost) announce("Connected again.");
}
