// States and verdicts: a symbol, a word and a colour, never the colour alone.
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";

const STATES = {
  running: ["◌", "running", "run"], ok: ["✓", "completed", "ok"], done: ["✓", "done", "ok"], passed: ["✓", "passed", "ok"],
  error: ["✗", "failed", "bad"], failed: ["✗", "failed", "bad"], unreadable: ["✗", "unreadable", "bad"],
  denied: ["⊘", "denied", "denied"], interrupted: ["■", "interrupted", "warn"], unanswered: ["–", "no answer", "idle"],
  waiting: ["?", "needs you", "warn"], question: ["?", "needs you", "warn"], parked: ["?", "needs you", "warn"], limit: ["▮", "limit reached", "warn"],
  paused: ["‖", "paused", "warn"], stopped: ["■", "stopped", "warn"], doubtful: ["?", "in doubt", "warn"], blocked: ["⊘", "blocked", "warn"],
  created: ["○", "not started", "idle"], pending: ["○", "pending", "idle"], open: ["○", "open", "idle"], skipped: ["–", "skipped", "idle"],
  "done (guard only)": ["✓", "done (guard only)", "ok"], "already satisfied": ["✓", "already satisfied", "ok"], unverified: ["?", "unverified", "warn"],
  stuck: ["✗", "stuck", "bad"], "needs you": ["?", "needs you", "warn"], in_progress: ["◌", "in progress", "run"], completed: ["✓", "done", "ok"],
};

/** Whether a task needs no more work. */
export const isDone = (task) => stateOf(task.verdict)[2] === "ok";

// An agent can write any word as the status of a to-do, also the name of a member that every object has.
export const stateOf = (name) => (Object.hasOwn(STATES, name) ? STATES[name] : ["○", visible(name ?? "unknown").replaceAll("_", " "), "idle"]);

export function State({ name, small = false, word }) {
  const [symbol, text, kind] = stateOf(name);
  return html`<span class=${`state ${kind} ${small ? "small" : ""}`}><span class=${symbol === "◌" ? "symbol spin" : "symbol"} aria-hidden="true">${symbol === "◌" ? "" : symbol}</span>${word == null ? text : visible(word)}</span>`;
}

/** The symbol alone, for lists with little room; its word is for screen readers and on hover. */
export function Symbol({ name }) {
  const [symbol, text, kind] = stateOf(name);
  return html`<span class=${`symbol ${kind} ${symbol === "◌" ? "spin" : ""}`} title=${text} role="img" aria-label=${text}>${symbol === "◌" ? "" : symbol}</span>`;
}
