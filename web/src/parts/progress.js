// The tasks of a run as a bar: a segment for each, with its state as text for screen readers and on hover.
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { isDone, stateOf } from "./state.js";

export function Progress({ tasks, now }) {
  const text = tasks.map((task) => `${visible(task.title)}: ${stateOf(stateNameOf(task, now))[1]}`).join("; ");
  return html`<span class="progress" role="img" aria-label=${text}>${tasks.map((task) => html`<span class=${stateOf(stateNameOf(task, now))[2]} title=${`${visible(task.title)}: ${stateOf(stateNameOf(task, now))[1]}`}></span>`)}</span>`;
}

export const stateNameOf = (task, now) => (now && (now.task === task.number || now.task === task.title) && !isDone(task) ? "running" : task.question ? "question" : task.verdict || "pending");
