// What is pinned beside a conversation: the gauge of the context, the to-do list, the session.
import { useState } from "preact/hooks";
import { copy } from "../data/actions.js";
import { clock, count, money, resetTime } from "../data/amounts.js";
import { isMedium } from "../data/preferences.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { TodoList } from "../parts/todo_list.js";

export function SideFacts({ list, log }) {
  const { todos, gauge } = list.extra.value;
  const entries = todos?.todos ?? todos ?? [];
  const [isWanted, setWanted] = useState(false);
  if (isMedium.value && !isWanted) return html`<p class="side-toggle"><button type="button" aria-expanded="false" onClick=${() => setWanted(true)}>${summaryOf(gauge, entries)}</button></p>`;
  return html`<aside class="side" aria-label="About this conversation">
    ${isMedium.value && html`<p class="side-toggle"><button type="button" aria-expanded="true" onClick=${() => setWanted(false)}>Fold</button></p>`}
    ${gauge && html`<${Gauge} gauge=${gauge} />`}
    ${entries.length > 0 && html`<section><h2>To do <span class="muted">${entries.filter((todo) => todo.status === "completed").length} of ${entries.length}</span></h2><${TodoList} todos=${entries} /></section>`}
    ${log && html`<section><h2>Session</h2><dl class="values">
      ${log.session_id && html`<div><dt>id</dt><dd><button type="button" class="quiet id" title="Copy the session id" onClick=${() => copy(log.session_id, "Session id copied")}><code>${visible(log.session_id)}</code></button></dd></div>`}
      ${[["agent", visible(log.agent)], ["model", visible(log.model)], ["started", clock(log.started_at, { withDate: true })], ["ended", clock(log.ended_at, { withDate: true })], ["exit code", log.exit_code]].filter(([, value]) => value != null && value !== "").map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
    </dl></section>`}
  </aside>`;
}

/** One line, where there is no room beside the conversation: also what the agent works on now. */
function summaryOf(gauge, entries) {
  const part = gauge?.context_window > 0 ? `context ${Math.round((100 * (gauge.context_tokens ?? 0)) / gauge.context_window)} %` : "";
  const done = entries.filter((todo) => todo.status === "completed").length;
  const current = entries.find((todo) => todo.status === "in_progress");
  return [part, gauge?.cost_usd != null && money(gauge.cost_usd), entries.length > 0 && `to do ${done} of ${entries.length}${current ? `: ${visible(current.text)}` : ""}`].filter(Boolean).join(" · ") || "About this session";
}

function Gauge({ gauge }) {
  const part = gauge.context_tokens != null && gauge.context_window > 0 ? Math.min(1, gauge.context_tokens / gauge.context_window) : null;
  const facts = [["tokens in", count(gauge.input_tokens)], ["tokens out", count(gauge.output_tokens)], ["cost", money(gauge.cost_usd)], ...(gauge.resets_at ? [["next reset", resetTime(gauge.resets_at)]] : [])];
  return html`<section class="gauge"><h2>Context</h2>
    ${part !== null ? html`<p><b>${Math.round(part * 100)} %</b> <span class="muted">${count(gauge.context_tokens)} of ${count(gauge.context_window)} tokens</span></p><span class=${`meter ${part > 0.9 ? "bad" : part > 0.7 ? "warn" : ""}`} role="meter" aria-label="Context used" aria-valuenow=${Math.round(part * 100)} aria-valuemin="0" aria-valuemax="100"><span style=${{ width: `${part * 100}%` }}></span></span>` : html`<p class="muted">${gauge.context_tokens != null ? `${count(gauge.context_tokens)} tokens` : "not reported yet"}</p>`}
    <dl class="values">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
  </section>`;
}
