// Sessions that belong to no run: a list, and the page of one.
import { ago, money } from "../data/amounts.js";
import { now } from "../data/now.js";
import { logLink, route } from "../data/route.js";
import { board } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { State } from "../parts/state.js";
import { Conversation } from "./conversation.js";
import { stateOfLog } from "./log_list.js";

/** The run under which the server has such logs. */
export const NO_RUN = "-";

export function SessionList() {
  const sessions = board.value?.sessions ?? [];
  if (!sessions.length) return null;
  return html`<section class="sessions"><h2>Of no run, newest first</h2><ul class="runs">${sessions.map((log) => html`<li class="run-card"><a href=${logLink(NO_RUN, log.log)} data-nav><span class="line first"><${State} name=${stateOfLog(log)} /><span class="title">${visible(log.title ?? log.session_id ?? log.log)}</span><span class="when">${log.started_at ? ago(now.value - log.started_at) : ""}</span></span><span class="line facts-line">${log.title && log.session_id && html`<span class="fact"><code>${visible(log.session_id)}</code></span>`}<span class="fact">${visible(log.agent)}</span><span class="fact">${visible(log.model)}</span><span class="fact">${money(log.cost_usd)}</span></span></a></li>`)}</ul></section>`;
}

export function SessionPage() {
  const { log } = route.value;
  const facts = board.value?.sessions?.find((one) => one.log === log) ?? { log, session_id: null, is_running: false };
  return html`<div class="page run tab-conversation session">
    <header class="run-head"><p class="crumbs"><a href="#/new">Sessions</a></p><div class="title-line"><h1 title=${visible(facts.title ?? "")}>${visible(facts.title ?? "Session")}</h1><${State} name=${stateOfLog(facts)} /></div></header>
    <div class="tab-panel"><${Conversation} document=${{ logs: [facts], card: null }} /></div>
  </div>`;
}
