// What the page knows: the board, the open run, its open conversation; kept fresh by the stream.
import { computed, signal } from "@preact/signals";
import { announce } from "./announcements.js";
import { LogItems } from "./log_items.js";
import { setServerTime } from "./now.js";
import { source } from "./source.js";

export const board = signal(null);
export const boardError = signal(null);
export const run = signal(null);
export const runError = signal(null);
/** @type {import("@preact/signals").Signal<LogItems | null>} */
export const openLog = signal(null);
/** Threads of sub-agents that are unfolded, of the open conversation. */
export const threads = new Map();
export const needs = computed(() => board.value?.needs ?? []);

export async function loadBoard() {
  try {
    const document = await source.board();
    setServerTime(source.canAct ? document.now : undefined);
    board.value = document;
    boardError.value = null;
  } catch (error) {
    boardError.value = error;
  }
}

export async function loadRun(id) {
  if (run.value?.card?.run !== id) run.value = null;
  if (!id) return;
  try {
    const document = await source.run(id);
    run.value = { ...document, checks: document.checks ?? [], logs: document.logs ?? [], commits: document.commits ?? [] };
    runError.value = null;
  } catch (error) {
    runError.value = error;
  }
}

/** Open a conversation; the one that is open already stays as it is. */
export function showLog(runId, log, { thread = null, filter = "" } = {}) {
  const held = openLog.peek();
  if (held?.run === runId && held.log === log && held.thread === thread && held.filter === filter) return held;
  threads.clear();
  const items = log ? new LogItems(runId, log, { thread, filter }) : null;
  openLog.value = items;
  if (items) void items.reload();
  return items;
}

/** The items of a sub-agent, loaded when they are first seen. */
export function threadOf(parent, callId) {
  if (!threads.has(callId)) {
    const items = new LogItems(parent.run, parent.log, { thread: callId });
    threads.set(callId, items);
    void items.reload();
  }
  return threads.get(callId);
}

export function receive({ name, data }) {
  if (name === "board") receiveBoard(data);
  else if (name === "run") receiveRun(data);
  else if (name === "items") receiveItems(data);
  else if (name === "end") endLog(data);
  else if (name === "reset") resetLog(data);
}

/** Load again what is shown: after a reconnect, so that nothing depends on what was missed. */
export async function refresh() {
  await Promise.all([loadBoard(), run.peek() && loadRun(run.peek().card.run), openLog.peek()?.reload(), ...[...threads.values()].map((held) => held.reload())]);
}

function receiveBoard({ runs = [], removed = [], needs: waiting, sessions = [] }) {
  if (!board.value) return;
  const changed = new Map(runs.map((card) => [card.run, card]));
  const gone = new Set(removed);
  const kept = board.value.runs.filter((card) => !gone.has(card.run)).map((card) => changed.get(card.run) ?? card);
  const known = new Set(kept.map((card) => card.run));
  const fresh = runs.filter((card) => !known.has(card.run));
  const before = board.value.needs?.length ?? 0;
  board.value = { ...board.value, runs: [...fresh, ...kept], needs: waiting ?? board.value.needs, sessions: merged(board.value.sessions ?? [], sessions) };
  if (waiting && waiting.length > before) announce(`${waiting.length} waiting for you`);
}

function receiveRun({ run: id, card, logs = [], journal, checks = [] }) {
  const held = run.value;
  if (!held || held.card.run !== id) return;
  run.value = {
    ...held,
    card: card ?? held.card,
    logs: merged(held.logs, logs),
    journal: journal ?? held.journal,
    checks: [...held.checks, ...checks.filter((check) => !held.checks.some((seen) => seen.seq === check.seq && seen.command === check.command))],
  };
  scheduleRun(id);
}

function merged(held, changed) {
  const known = new Map(changed.map((log) => [log.log, log]));
  const kept = held.map((log) => known.get(log.log) ?? log);
  return [...kept, ...changed.filter((log) => !held.some((one) => one.log === log.log))];
}

function receiveItems(event) {
  const open = openLog.peek();
  if (!open || open.log !== event.log) return;
  open.apply(event);
  for (const held of threads.values()) held.apply({ ...event, todos: null, footer: null, gauge: null });
}

/** A log was replaced: what is held of it is of another file. */
function resetLog({ log }) {
  if (log === undefined) return void refresh();
  if (openLog.peek()?.log !== log) return;
  openLog.peek().forget();
  for (const held of threads.values()) held.forget();
}

function endLog({ log }) {
  const open = openLog.peek();
  if (open?.log === log) open.end();
}

// The receipt, commits and charts of a run that works change with every commit: asked for at most every two seconds.
const RUN_EVERY_MS = 2000;
let scheduled = 0;
function scheduleRun(id) {
  if (scheduled) return;
  scheduled = setTimeout(() => {
    scheduled = 0;
    if (run.peek()?.card.run === id) void loadRun(id);
  }, RUN_EVERY_MS);
}
