// What waits for the user: each entry shows exactly what is approved, and what each button does.
import { useState } from "preact/hooks";
import { act, copy } from "../data/actions.js";
import { ago } from "../data/amounts.js";
import { now } from "../data/now.js";
import { link } from "../data/route.js";
import { source } from "../data/source.js";
import { board, needs } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";
import { Markdown } from "../parts/markdown.js";
import { State } from "../parts/state.js";
import { Values } from "../parts/values.js";

const KINDS = { question: ["question", "question"], permission: ["denied", "permission"], failure: ["failed", "failure"], limit: ["limit", "limit"], doubt: ["doubtful", "doubt"] };

export const Inbox = () => html`<div class="page inbox">
  <h1>Needs you</h1>
  ${needs.value.length ? needs.value.map((need) => html`<${NeedCard} key=${`${need.run}/${need.effect ?? need.task ?? need.title}`} need=${need} />`) : html`<${Empty} title="Nothing waits for you" text="Questions, permissions, failures and limits of all runs appear here. You can leave this page open." />`}
</div>`;

export function NeedCard({ need, isOnRunPage = false }) {
  const [state, word] = KINDS[need.kind] ?? ["question", need.kind];
  const payload = payloadOf(need);
  return html`<section class=${`need need-${need.kind}`} aria-label=${`${word}: ${need.title}`}>
    <header><${State} name=${state} word=${word} /><h3>${visible(titleOf(need))}</h3><span class="when">${need.since ? ago(now.value - need.since) : ""}</span></header>
    <${Of} need=${need} isOnRunPage=${isOnRunPage} />
    ${need.text && html`<${Markdown} text=${need.text} />`}
    ${payload != null && html`<div class="payload"><h4>${need.kind === "permission" ? "What you approve" : "What it is about"}</h4><${Values} value=${payload} /></div>`}
    ${source.canAct && html`<${Answer} need=${need} />`}
    ${need.commands?.length > 0 && html`<details class="commands"><summary>The same in a terminal</summary>${need.commands.map((command) => html`<p><code>${visible(command)}</code><button type="button" class="quiet" onClick=${() => copy(command)}>Copy</button></p>`)}</details>`}
  </section>`;
}

/** Where it comes from: the run, unless this is its page, and the task, unless it is the title. */
function Of({ need, isOnRunPage }) {
  const plan = board.value?.runs.find((one) => one.run === need.run)?.plan ?? need.run;
  const task = need.task != null && titleOf(need) !== need.task ? `task ${visible(need.task)}` : "";
  if (isOnRunPage) return task ? html`<p class="of">${task}</p>` : null;
  return html`<p class="of"><a href=${link("run", need.run)}>${visible(plan)}</a>${task && ` · ${task}`}</p>`;
}

/** A question of a task has its title; the effect's own label is for the journal. */
const titleOf = (need) => (need.kind === "question" && need.task != null ? need.task : need.title);

/** What is approved, whole. Of a question, what it says beyond its text and its task, which are shown already. */
function payloadOf(need) {
  if (need.kind === "permission" || need.payload === null || typeof need.payload !== "object" || Array.isArray(need.payload)) return need.payload;
  const rest = Object.entries(need.payload).filter(([name]) => !["question", "task", "asksFor", "options"].includes(name));
  return rest.length ? Object.fromEntries(rest) : null;
}

const Answer = ({ need }) => (need.kind === "failure" ? html`<${Failed} need=${need} />` : need.kind === "limit" ? html`<${Limited} need=${need} />` : html`<${Asked} need=${need} />`);

/** Send an action of this entry; buttons are disabled until it is answered. */
function useSending(need) {
  const [isBusy, setBusy] = useState(false);
  const send = async (body) => {
    setBusy(true);
    const done = await act({ run: need.run, effect: need.effect ?? undefined, task: need.task ?? undefined, ...body });
    setBusy(false);
    return done;
  };
  return [isBusy, send];
}

const fieldOf = (need) => `answer-${need.run}-${need.effect ?? need.task ?? ""}`;
const Field = ({ need, label, text, setText }) => html`<label for=${fieldOf(need)}>${label}</label><textarea id=${fieldOf(need)} rows="2" value=${text} onInput=${(event) => setText(event.target.value)}></textarea>`;

function Failed({ need }) {
  const [text, setText] = useState("");
  const [isBusy, send] = useSending(need);
  const retry = async (event) => {
    event.preventDefault();
    if (!text.trim() || (await send({ action: "hint", text: text.trim() }))) await send({ action: "retry", resume: true });
  };
  return html`<form class="answer" onSubmit=${retry}>
    ${need.task != null && html`<${Field} need=${need} label="Hint for the next attempt (optional)" text=${text} setText=${setText} />`}
    <div class="buttons">${need.task != null ? html`<button type="submit" class="primary" disabled=${isBusy}>Retry the task</button>` : html`<button type="button" class="primary" disabled=${isBusy} onClick=${() => send({ action: "resume" })}>Resume the run</button>`}</div>
  </form>`;
}

function Limited({ need }) {
  const [cost, setCost] = useState("");
  const [isBusy, send] = useSending(need);
  const limit = Number(cost);
  const resume = (event) => (event.preventDefault(), send({ action: "resume", limits: limit > 0 ? { max_cost_usd: limit } : undefined }));
  return html`<form class="answer" onSubmit=${resume}>
    <label for=${fieldOf(need)}>New limit of the cost in dollars (the old one if empty)</label><input id=${fieldOf(need)} type="text" inputmode="decimal" value=${cost} onInput=${(event) => setCost(event.target.value)} />
    <div class="buttons"><button type="submit" class="primary" disabled=${isBusy || (cost !== "" && !(limit > 0))}>Resume the run</button></div>
  </form>`;
}

function Asked({ need }) {
  const [text, setText] = useState("");
  const [isBusy, send] = useSending(need);
  const words = text.trim();
  const isPermission = need.kind === "permission";
  const options = (need.options ?? []).map((option) => (typeof option === "string" ? { label: option } : option));
  return html`<form class="answer" onSubmit=${(event) => (event.preventDefault(), words && !isPermission && send({ action: "answer", text: words, resume: true }))}>
    ${options.length > 0 && html`<fieldset class="options"><legend>Choose an answer</legend>${options.map((option) => html`<button type="button" disabled=${isBusy} onClick=${() => send({ action: "answer", option: option.label, resume: true })}><b>${visible(option.label)}</b>${option.description && html`<span>${visible(option.description)}</span>`}</button>`)}</fieldset>`}
    ${(need.takes_free_text || isPermission) && html`<${Field} need=${need} label=${isPermission ? "A comment (optional)" : options.length ? "Or answer in your own words" : "Your answer"} text=${text} setText=${setText} />`}
    <div class="buttons">
      ${need.takes_free_text && !isPermission && html`<button type="submit" class="primary" disabled=${isBusy || !words}>Send the answer</button>`}
      ${isPermission && html`<button type="button" class="primary" disabled=${isBusy} onClick=${() => send({ action: "approve", text: words || undefined, resume: true })}>Approve</button><button type="button" class="danger" disabled=${isBusy} onClick=${() => send({ action: "reject", text: words || undefined, resume: true })}>Reject</button>`}
    </div>
  </form>`;
}
