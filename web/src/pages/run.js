// The page of a run: its state and figures, what can be done with it, and its tabs.
import { useEffect, useRef } from "preact/hooks";
import { link, route, TABS } from "../data/route.js";
import { loadRun, run, runError } from "../data/store.js";
import { html } from "../html.js";
import { Problem } from "../parts/empty.js";
import { Charts } from "./charts.js";
import { Commits } from "./commits.js";
import { Conversation } from "./conversation.js";
import { Journal } from "./journal.js";
import { Receipt } from "./receipt.js";
import { RunHead } from "./run_head.js";
import { Tasks } from "./tasks.js";

const VIEWS = { conversation: Conversation, tasks: Tasks, journal: Journal, commits: Commits, receipt: Receipt, charts: Charts };
const NAMES = { conversation: "Conversation", tasks: "Tasks and checks", journal: "Journal", commits: "Commits", receipt: "Receipt", charts: "Charts" };

export function RunPage() {
  const { run: id, tab } = route.value;
  useEffect(() => void loadRun(id), [id]);
  if (!run.value || run.value.card.run !== id) return runError.value ? html`<${Problem} error=${runError.value} title="This run cannot be shown" />` : html`<div class="page" aria-busy="true"><div class="skeleton"></div><div class="skeleton tall"></div></div>`;
  const View = VIEWS[tab];
  return html`<div class=${`page run tab-${tab}`}>
    <${RunHead} document=${run.value} />
    <${Tabs} id=${id} tab=${tab} />
    <div class="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${tab}`}><${View} document=${run.value} /></div>
  </div>`;
}

function Tabs({ id, tab }) {
  const frame = useRef(null);
  useEffect(() => frame.current.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "center" }), [tab]);
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length];
    location.hash = link("run", id, next);
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  const figures = { tasks: run.value.card.tasks?.length, journal: run.value.journal?.count, commits: run.value.commits.length };
  return html`<div class="tabs" ref=${frame} role="tablist" aria-label="Views of this run" onKeyDown=${move}>${TABS.map((name) => html`<a role="tab" id=${`tab-${name}`} href=${link("run", id, name)} aria-selected=${name === tab} aria-controls="tab-panel" tabindex=${name === tab ? 0 : -1}>${NAMES[name]}${figures[name] > 0 && html`<span class="number">${figures[name]}</span>`}</a>`)}</div>`;
}
