// The head of a run's page.
import { useState } from "preact/hooks";
import { act } from "../data/actions.js";
import { ago, clock, count, duration, money, resetTime } from "../data/amounts.js";
import { now } from "../data/now.js";
import { source } from "../data/source.js";
import { needs } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Progress } from "../parts/progress.js";
import { State } from "../parts/state.js";
import { elapsedOf, NowLine } from "./board.js";
import { NeedCard } from "./needs.js";
import { isNarrow } from "../data/preferences.js";

export function RunHead({ document }) {
  const { card, receipt } = document;
  const waiting = needs.value.filter((need) => need.run === card.run);
  return html`<header class="run-head">
    <p class="crumbs"><a href="#/">Runs</a><code>${card.run}</code>${card.branch && html`<code title="branch">${visible(card.branch)}</code>`}<span title=${clock(card.ended_at ?? card.started_at, { withDate: true })}>${!card.ended_at ? "started" : ["done", "failed"].includes(card.state) ? "ended" : "last active"} ${ago(now.value - (card.ended_at ?? card.started_at))}</span></p>
    <div class="title-line"><h1>${visible(card.plan || card.run)}</h1><${State} name=${card.state} /><${Actions} card=${card} /></div>
    ${card.tasks?.length > 0 && html`<${Progress} tasks=${card.tasks} now=${card.now} />`}
    <dl class="figures">
      <${Meter} name="cost" value=${card.cost_usd} limit=${card.limits?.max_cost_usd} text=${money(card.cost_usd)} limitText=${money(card.limits?.max_cost_usd)} note=${card.wasted_usd > 0 ? `${money(card.wasted_usd)} wasted` : ""} />
      <${Meter} name="elapsed" value=${elapsedOf(card)} limit=${card.limits?.max_seconds} text=${duration(elapsedOf(card))} limitText=${duration(card.limits?.max_seconds)} />
      <div><dt>tokens</dt><dd>${count(card.input_tokens)} in, ${count(card.output_tokens)} out</dd></div>
      <div><dt>isolation</dt><dd title=${receipt?.isolation_scope}>${visible(card.isolation || receipt?.isolation || "–")}</dd></div>
      ${card.next_reset && html`<div><dt>next reset</dt><dd>${resetTime(card.next_reset)}</dd></div>`}
    </dl>
    ${waiting.length === 0 && html`<${NowLine} card=${card} />`}
    ${waiting.length > 0 && html`<${Waiting} waiting=${waiting} />`}
  </header>`;
}

/** What waits for the user; folded on a phone, where the tabs would be far below it. */
function Waiting({ waiting }) {
  const cards = waiting.map((need) => html`<${NeedCard} key=${need.effect ?? need.task ?? need.title} need=${need} isOnRunPage />`);
  if (!isNarrow.value) return cards;
  return html`<details class="waiting"><summary>${waiting.length === 1 ? "1 needs you" : `${waiting.length} need you`}: ${waiting.map((need) => visible(need.task ?? need.title)).join(", ")}</summary>${cards}</details>`;
}

function Meter({ name, value, limit, text, limitText, note }) {
  const part = limit > 0 && value >= 0 ? Math.min(1, value / limit) : null;
  return html`<div><dt>${name}</dt><dd>${text}${part !== null && html`<span class="of"> of ${limitText}</span>`}${note && html`<span class="of">, ${note}</span>`}${part !== null && html`<span class=${`meter ${part > 0.9 ? "bad" : part > 0.7 ? "warn" : ""}`} role="meter" aria-label=${`${name} against its limit`} aria-valuenow=${Math.round(part * 100)} aria-valuemin="0" aria-valuemax="100"><span style=${{ width: `${part * 100}%` }}></span></span>`}</dd></div>`;
}

function Actions({ card }) {
  const [open, setOpen] = useState("");
  if (!source.canAct || !card.is_loop) return null;
  // A run that waits for a limit has a driver too, which can be stopped.
  const isAtWork = card.state === "running" || card.driver != null;
  const close = () => setOpen("");
  return html`<div class="actions">
    ${card.state !== "done" && html`<button type="button" onClick=${() => setOpen("hint")}>Hint</button>`}
    ${isAtWork && html`<button type="button" class="danger" onClick=${() => setOpen("stop")}>Stop</button>`}
    ${!isAtWork && card.state !== "done" && html`<button type="button" class="primary" onClick=${() => act({ action: "resume", run: card.run })}>Resume</button>`}
    ${!isAtWork && html`<button type="button" onClick=${() => setOpen("undo")}>Undo</button>`}
    ${open && html`<${Confirm} kind=${open} card=${card} close=${close} />`}
  </div>`;
}

const WORDS = {
  hint: ["A hint for the next iteration", "It is added to the next prompt of the agent, and kept in the journal.", "Send the hint"],
  stop: ["Stop this run?", "The agent that works now is ended. What was committed stays, and the run can be resumed.", "Stop the run"],
  undo: ["Undo this run?", "The branch that you had before is checked out, and your files become what they were before the run. Its commits are kept under refs/bridle/undone.", "Undo the run"],
};

function Confirm({ kind, card, close }) {
  const [text, setText] = useState("");
  const [title, words, button] = WORDS[kind];
  const submit = async (event) => {
    event.preventDefault();
    if (await act({ action: kind, run: card.run, text: kind === "hint" ? text.trim() : undefined })) close();
  };
  const keys = (event) => event.key === "Escape" && (event.stopPropagation(), close());
  return html`<form class="confirm" role="dialog" aria-modal="false" aria-label=${title} onSubmit=${submit} onKeyDown=${keys}>
    <h2>${title}</h2><p>${words}</p>
    ${kind === "hint" && html`<label class="sr" for="hint-text">Hint</label><textarea id="hint-text" rows="3" autofocus value=${text} onInput=${(event) => setText(event.target.value)}></textarea>`}
    <div class="buttons"><button type="submit" class=${kind === "hint" ? "primary" : "danger"} disabled=${kind === "hint" && !text.trim()}>${button}</button><button type="button" onClick=${close}>Cancel</button></div>
  </form>`;
}
