// The board: every run of the repository, newest first.
import { ago, count, duration, money, plural } from "../data/amounts.js";
import { now } from "../data/now.js";
import { link } from "../data/route.js";
import { isExport, source } from "../data/source.js";
import { board, boardError, needs } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty, Problem } from "../parts/empty.js";
import { Progress } from "../parts/progress.js";
import { isDone, State } from "../parts/state.js";
import { NeedCard } from "./needs.js";

export function Board() {
  if (!board.value) return boardError.value ? html`<${Problem} error=${boardError.value} />` : html`<${Waiting} />`;
  const { runs } = board.value;
  if (!runs.length) return html`<${NoRuns} />`;
  return html`<div class="page board">
    <h1>Runs</h1>
    ${source.omitted?.length > 0 && html`<ul class="omitted" aria-label="Left out of this file">${source.omitted.map((line) => html`<li>${visible(line)}</li>`)}</ul>`}
    <${Totals} runs=${runs} />
    ${needs.value.length > 0 && html`<section class="needs-first" aria-label="Needs you"><h2>Needs you <span class="badge">${needs.value.length}</span></h2>${needs.value.slice(0, 3).map((need) => html`<${NeedCard} need=${need} />`)}${needs.value.length > 3 && html`<a href="#/inbox">All ${needs.value.length}</a>`}</section>`}
    <ul class="runs">${runs.map((card) => html`<${RunCard} key=${card.run} card=${card} />`)}</ul>
  </div>`;
}

function Totals({ runs }) {
  const sum = (name) => runs.reduce((total, card) => total + (card[name] ?? 0), 0);
  const tasks = runs.flatMap((card) => card.tasks ?? []);
  const figures = [
    ["running", runs.filter((card) => card.state === "running").length],
    ["need you", needs.value.length],
    ["tasks done", `${tasks.filter(isDone).length} of ${tasks.length}`],
    ["spent", money(sum("cost_usd"))],
    ["tokens", count(sum("input_tokens") + sum("output_tokens"))],
  ];
  return html`<dl class="figures">${figures.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export const elapsedOf = (card) => (card.state === "running" && card.started_at ? Math.max(card.seconds ?? 0, now.value - card.started_at) : card.seconds);

function RunCard({ card }) {
  const tasks = card.tasks ?? [];
  const done = tasks.filter(isDone).length;
  const limit = card.limits?.max_cost_usd;
  return html`<li class=${`run-card ${card.state}`}><a href=${link("run", card.run)} data-nav>
    <span class="line first"><${State} name=${card.state} /><span class="title">${visible(card.plan || card.run)}</span><span class="when">${card.started_at ? ago(now.value - card.started_at) : ""}</span></span>
    ${tasks.length > 0 && html`<${Progress} tasks=${tasks} now=${card.now} />`}
    <span class="line facts-line">
      ${tasks.length > 0 && html`<span class="fact"><b>${done}</b> of ${plural(tasks.length, "task")}</span>`}
      <span class="fact"><b>${money(card.cost_usd)}</b>${limit ? ` of ${money(limit)}` : ""}</span>
      <span class="fact">${duration(elapsedOf(card))}</span>
      <span class="fact">${count((card.input_tokens ?? 0) + (card.output_tokens ?? 0))} tokens</span>
      ${card.branch && html`<span class="fact branch"><code>${visible(card.branch)}</code></span>`}
    </span>
    <${NowLine} card=${card} />
  </a></li>`;
}

export function NowLine({ card }) {
  const at = card.now;
  if (card.state === "running" && at) {
    const parts = [at.task != null && taskName(card, at.task), at.iteration != null && `iteration ${at.iteration}`, at.agent, at.tool].filter(Boolean).map((part) => visible(part));
    return html`<span class="line now"><span class="dot" aria-hidden="true"></span><span class="where">${parts.join(" · ")}${at.since ? ` · ${duration(Math.max(0, now.value - at.since))}` : ""}</span>${card.last_text && html`<span class="last">${visible(card.last_text)}</span>`}</span>`;
  }
  const text = card.reason || card.last_text;
  return text ? html`<span class="line now idle"><span class="last">${visible(text)}</span></span>` : null;
}

function taskName(card, task) {
  const found = (card.tasks ?? []).find((one) => one.number === task || one.title === task);
  return found ? found.title : `task ${task}`;
}

const Waiting = () => html`<div class="page" aria-busy="true"><h1>Runs</h1><div class="skeleton"></div><div class="skeleton"></div><div class="skeleton"></div></div>`;

const NoRuns = () => html`<div class="page"><h1>Runs</h1><${Empty} title="No runs yet" text=${isExport ? "This file holds no run." : "A run appears here as soon as it starts. In your repository:"} commands=${isExport ? [] : ["bridle init", "bridle plan \"what you want\"", "bridle run"]}>
  ${!isExport && html`<p>Or try it without an account: <code>bridle demo</code>. You can also <a href="#/new">start a session here</a>.</p>`}
<//></div>`;
