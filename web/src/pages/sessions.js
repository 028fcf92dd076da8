// Sessions that belong to no run: a list, and the page of one.
import { ago, money } from "../data/amounts.js";
import { now } from "../data/now.js";
import { logLink, NO_RUN, route } from "../data/route.js";
import { board } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { State } from "../parts/state.js";
import { Conversation } from "./conversation.js";
import { stateOfLog } from "./log_list.js";

export function SessionList() {
  const sessions = board.value?.sessions ?? [];
  if (!sessions.length) return null;
  return html`<section class="sessions"><h2>Of no run, newest first</h2><ul class="runs">${sessions.map((log) => html`<li class="run-card"><a href=${logLink(NO_RUN, log.log)} data-nav><span class="line first"><${State} name=${stateOfLog(log)} /><span class="title">${visible(log.title ?? log.session_id ?? log.log)}</span><span class="when">${log.started_at ? ago(now.value - log.started_at) : ""}</span></span><span class="line facts-line">${log.title && log.session_id && html`<span class="fact"><code>${visible(log.session_id)}</code></span>`}<span class="fact">${visible(log.agent)}</span><span class="fact">${visible(log.model)}</span><span class="fact">${money(log.cost_usd)}</span></span></a></li>`)}</ul></section>`;
}

/** The agents that worked in one session, one after the other: each message that continued it has a log of its own. */
function Parts({ log }) {
  const parts = (board.value?.sessions ?? []).filter((one) => log.session_id && one.session_id === log.session_id).toReversed();
  if (parts.length < 2) return null;
  return html`<nav class="parts" aria-label="Messages of this session"><ol>${parts.map((one) => html`<li><a href=${logLink(NO_RUN, one.log)} aria-current=${one.log === log.log ? "page" : undefined}>${visible(one.title ?? one.log)}</a></li>`)}</ol></nav>`;
}

export function SessionPage() {
  const { log } = route.value;
  const facts = board.value?.sessions?.find((one) => one.log === log) ?? { log, session_id: null, is_running: false };
  return html`<div class="page run tab-conversation session">
    <header class="run-head"><p class="crumbs"><a href="#/new">Sessions</a></p><${Parts} log=${facts} /><div class="title-line"><h1 title=${visible(facts.title ?? "")}>${visible(facts.title ?? "Session")}</h1><${State} name=${stateOfLog(facts)} /></div></header>
    <div class="tab-panel"><${Conversation} document=${{ logs: [facts], card: null }} /></div>
  </div>`;
}
