// The agents of a run, by task and iteration; those of one task, if one is chosen.
import { useEffect, useState } from "preact/hooks";
import { money } from "../data/amounts.js";
import { go, logLink } from "../data/route.js";
import { isNarrow } from "../data/preferences.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Symbol } from "../parts/state.js";

export function LogList({ logs: all, run, chosen, tasks, checks = [] }) {
  const [task, setTask] = useState("");
  const current = all.find((log) => log.log === chosen);
  useEffect(() => {
    if (current && titleOf(current, tasks) !== task) setTask(""); // a link led to another task
  }, [chosen]);
  if (all.length < 2) return html`<div class="log-list none"></div>`;
  const choose = (title) => {
    setTask(title);
    const newest = all.findLast((log) => titleOf(log, tasks) === title);
    if (newest && titleOf(current ?? {}, tasks) !== title) go(logLink(run, newest.log));
  };
  const titles = [...new Set(all.map((log) => titleOf(log, tasks)))];
  const logs = task ? all.filter((log) => titleOf(log, tasks) === task) : all;
  const filter = titles.length > 1 && html`<label class="sr" for="log-task">Task</label><select id="log-task" value=${task} onChange=${(event) => choose(event.target.value)}><option value="">All tasks</option>${titles.map((title) => html`<option value=${title} selected=${title === task}>${title}</option>`)}</select>`;
  if (isNarrow.value)
    return html`<div class="log-list">${filter}<label class="sr" for="log-choice">Agent</label><select id="log-choice" value=${chosen} onChange=${(event) => go(logLink(run, event.target.value))}>${logs.map((log) => html`<option value=${log.log} selected=${log.log === chosen}>${titleOf(log, tasks)}: ${partOf(log)}</option>`)}</select></div>`;
  return html`<nav class="log-list" aria-label="Agents of this run">${filter}<ul>${logs.map((log, place) => html`
    ${(place === 0 || titleOf(logs[place - 1], tasks) !== titleOf(log, tasks)) && html`<li class="group">${titleOf(log, tasks)}</li>`}
    <li><a href=${logLink(run, log.log)} aria-current=${log.log === chosen ? "true" : undefined}><span>${partOf(log)}</span><span class="cost">${log.cost_usd != null ? money(log.cost_usd) : ""}</span><${Symbol} name=${stateOfIteration(log, checks)} /></a></li>`)}</ul></nav>`;
}

const titleOf = (log, tasks) => visible(log.task ?? tasks?.find((task) => task.number === log.number)?.title ?? log.agent ?? "session");
const partOf = (log) => [log.iteration != null && `iteration ${log.iteration}`, log.attempt > 1 && `attempt ${log.attempt}`, log.mode && log.mode !== "coder" && visible(log.mode)].filter(Boolean).join(", ") || visible(log.agent ?? "agent");

/** An iteration whose checks failed is not shown as a success, however its agent ended. */
const stateOfIteration = (log, checks) => (stateOfLog(log) === "ok" && checks.some((check) => check.when === "after" && check.task === log.task && check.iteration === log.iteration && !check.passed) ? "failed" : stateOfLog(log));

export function stateOfLog(log) {
  if (log.is_running) return "running";
  if (log.outcome) return log.outcome.failed ? "failed" : "ok";
  return log.exit_code === 0 ? "ok" : log.exit_code == null ? "interrupted" : "failed";
}
