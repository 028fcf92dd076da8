// The frame around every page: where you are, whether the server answers, what waits for you.
import { useEffect, useRef } from "preact/hooks";
import { announcement, dismiss, toasts } from "../data/announcements.js";
import { ago, clock } from "../data/amounts.js";
import { connection, reconnectNow } from "../data/connection.js";
import { now } from "../data/now.js";
import { nextTheme, theme } from "../data/preferences.js";
import { link, route } from "../data/route.js";
import { isExport, source } from "../data/source.js";
import { board, needs } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { isHelpOpen, KEYS } from "./keyboard.js";
import { Symbol } from "./state.js";

export function Shell({ children }) {
  return html`<a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById("main").focus())}>Skip to the content</a>
    <${TopBar} />
    <div class="frame"><${RunList} /><main id="main" tabindex="-1">${children}</main></div>
    <${TabBar} />
    <div class="sr" role="status" aria-live="polite">${announcement.value}</div>
    <div class="toasts" role="region" aria-label="Messages">${toasts.value.map((shown) => html`<div key=${shown.id} class=${`toast ${shown.kind}`} role=${shown.kind === "error" ? "alert" : "status"}><p>${visible(shown.text)}</p>${shown.remedy && html`<p class="muted">${visible(shown.remedy)}</p>`}<button type="button" class="quiet" aria-label="Dismiss" onClick=${() => dismiss(shown.id)}>×</button></div>`)}</div>
    ${isHelpOpen.value && html`<${Help} />`}`;
}

const PLACES = [["board", "#/", "Runs"], ["inbox", "#/inbox", "Needs you"], ["search", "#/search?q=", "Search"], ["new", "#/new", "Sessions"]];
const places = () => PLACES.filter(([name]) => !isExport || !["new", "inbox"].includes(name));
const isAt = (name) => route.value.page === name || (route.value.page === "run" && name === (route.value.run === "-" ? "new" : "board"));

const Places = () => places().map(([name, address, title]) => html`<a href=${address} aria-current=${isAt(name) ? "page" : undefined}>${title}${name === "inbox" && needs.value.length > 0 && html`<span class="badge" aria-label=${`${needs.value.length} waiting`}>${needs.value.length}</span>`}</a>`);

const TopBar = () => html`<header class="top">
  <a class="brand" href="#/" aria-label="Bridle, all runs"><svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true"><path d="M4 3v14M4 10c2-5 10-5 11 0s-7 7-11 3" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" /></svg>bridle</a>
  ${board.value?.repository?.name && html`<span class="repository" title=${visible(board.value.repository.path)}>${visible(board.value.repository.name)}</span>`}
  <nav class="places" aria-label="Main"><${Places} /></nav>
  <span class="push"></span>
  <${ConnectionState} />
  <button type="button" class="quiet" onClick=${nextTheme} aria-label=${`Theme: ${theme.value}. Change it`} title=${`Theme: ${theme.value}`}>${{ system: "◐", light: "☀", dark: "☾" }[theme.value]}</button>
  <button type="button" class="quiet" onClick=${() => (isHelpOpen.value = true)} aria-label="Help: keys" title="Keys">?</button>
</header>`;

const TabBar = () => html`<nav class="tab-bar" aria-label="Main, below"><${Places} /></nav>`;

function ConnectionState() {
  const { state, at, retryAt } = connection.value;
  now.value; // the age grows
  if (state === "export") return html`<span class="connection export">Export${source.exportedAt ? ` of ${clock(source.exportedAt, { withDate: true })}` : ""}</span>`;
  if (state === "live") return html`<span class="connection live" title="The server answers"><span class="dot" aria-hidden="true"></span>Live<span class="age">${ago((Date.now() - at) / 1000)}</span></span>`;
  if (state === "refused") return html`<span class="connection lost">Link not valid</span>`;
  if (state === "connecting") return html`<span class="connection">Connecting…</span>`;
  const wait = Math.max(0, Math.ceil((retryAt - Date.now()) / 1000));
  return html`<span class="connection lost">Offline${wait ? `, again in ${wait} s` : ""} <button type="button" class="quiet" onClick=${reconnectNow}>Reconnect</button></span>`;
}

function RunList() {
  const runs = board.value?.runs ?? [];
  if (route.value.page !== "run" || runs.length < 2) return null;
  return html`<nav class="run-list" aria-label="Runs"><ul>${runs.slice(0, 60).map((card) => {
    return html`<li key=${card.run}><a href=${link("run", card.run)} aria-current=${route.value.run === card.run ? "page" : undefined}><${Symbol} name=${card.state} /><span class="name">${visible(card.plan || card.run)}</span><span class="when">${card.started_at ? ago(now.value - card.started_at).replace(" ago", "") : ""}</span></a></li>`;
  })}</ul></nav>`;
}

function Help() {
  const dialog = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${dialog} class="help" aria-labelledby="help-title" onClose=${() => (isHelpOpen.value = false)}>
    <h2 id="help-title">Keys</h2><dl>${KEYS.map(([key, text]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}</dl>
    <div class="buttons"><button type="button" class="primary" onClick=${() => (isHelpOpen.value = false)}>Close</button></div>
  </dialog>`;
}
