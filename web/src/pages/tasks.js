// The tasks of a run with their checks, each iteration, and what a check printed.
import { useEffect, useState } from "preact/hooks";
import { act } from "../data/actions.js";
import { duration, money, plural } from "../data/amounts.js";
import { link, logLink, route } from "../data/route.js";
import { source } from "../data/source.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Clipped } from "../parts/code.js";
import { Empty } from "../parts/empty.js";
import { stateNameOf } from "../parts/progress.js";
import { isDone, State } from "../parts/state.js";

export function Tasks({ document }) {
  const { card, checks, logs } = document;
  const tasks = card.tasks ?? [];
  if (!tasks.length) return html`<${Empty} title="No tasks" text="This run has no plan with tasks. What it did is in the journal." />`;
  return html`<ol class="tasks">${tasks.map((task, place) => html`<${Task} key=${task.number ?? place} task=${task} card=${card} checks=${checks.filter((check) => isOf(check.task, task))} logs=${logs.filter((log) => isOf(log.task, task) || log.number === task.number)} />`)}</ol>`;
}

const isOf = (name, task) => name != null && (name === task.title || name === task.number);

function Task({ task, card, checks, logs }) {
  const isChosen = route.value.task === task.number;
  const [isOpen, setOpen] = useState(isChosen || !isDone(task));
  useEffect(() => {
    if (isChosen) document.getElementById(`task-${task.number}`)?.scrollIntoView({ block: "start" });
  }, [isChosen]);
  const iterations = [...new Set([...checks, ...logs].map((one) => one.iteration ?? 0))].sort((a, b) => a - b);
  return html`<li class="task" id=${`task-${task.number}`}>
    <div class="head"><button type="button" class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><span class="chevron" aria-hidden="true"></span><span class="position">${task.number}</span><span class="title">${visible(task.title)}</span></button>
      <span class="facts-line"><span class="fact">${plural(task.iterations ?? 0, "iteration")}</span><span class="fact">${money(task.cost_usd)}</span><span class="fact">${duration(task.seconds)}</span>${task.commit && html`<a class="fact" href=${link("run", card.run, "commits", task.commit)}><code>${task.commit.slice(0, 8)}</code></a>`}</span>
      <${State} name=${stateNameOf(task, card.now)} /></div>
    ${task.reason && task.verdict !== "done" && html`<p class="reason">${visible(task.reason)}</p>`}
    ${isOpen && html`<div class="iterations">
      ${iterations.map((iteration) => html`<${Iteration} run=${card.run} iteration=${iteration} checks=${checks.filter((check) => (check.iteration ?? 0) === iteration)} logs=${logs.filter((log) => (log.iteration ?? 0) === iteration)} />`)}
      ${!iterations.length && html`<p class="muted">Not started yet.</p>`}
      ${source.canAct && card.state !== "running" && ["failed", "stuck", "blocked"].includes(task.verdict) && html`<div class="buttons"><button type="button" onClick=${() => act({ action: "retry", run: card.run, task: task.title, resume: true })}>Retry this task</button></div>`}
    </div>`}
  </li>`;
}

const Iteration = ({ run, iteration, checks, logs }) => html`<section class="iteration">
  <h3>${iteration ? `Iteration ${iteration}` : "Before the first iteration"}${logs.map((log) => html`<a href=${logLink(run, log.log)}>conversation${log.attempt > 1 ? `, attempt ${log.attempt}` : ""}</a>`)}</h3>
  ${checks.map((check) => html`<${Check} check=${check} />`)}
</section>`;

function Check({ check }) {
  const [isOpen, setOpen] = useState(!check.passed);
  return html`<div class="check"><button type="button" class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><span class="chevron" aria-hidden="true"></span><code class="summary">${visible(check.command)}</code><span class="tail">${!check.passed && check.exit_code != null && html`<span class="fact">exit code ${check.exit_code}</span>`}<span class="fact">${duration(check.seconds)}</span><${State} name=${check.passed ? "passed" : "failed"} small /></span></button>
    ${isOpen && html`<div class="inner">${check.output ? html`<${Clipped} text=${check.output} lines=${60} isOpen=${false} kind=${check.passed ? "" : "bad"} />` : html`<p class="muted">It printed nothing.</p>`}</div>`}</div>`;
}
