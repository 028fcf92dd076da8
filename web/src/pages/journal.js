// The journal: every entry on a timeline, and a scrubber that shows the run as it stood at any of them.
import { useEffect, useState } from "preact/hooks";
import { clock, plural } from "../data/amounts.js";
import { link, replaceRoute, route } from "../data/route.js";
import { source } from "../data/source.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";
import { FileDiffs } from "../parts/file_diffs.js";
import { State } from "../parts/state.js";
import { Values } from "../parts/values.js";
import { VirtualList } from "../parts/virtual_list.js";

const PAGE = 200;
// The server is asked when the scrubber has rested for this long.
const PAUSE_MS = 150;

export function Journal({ document }) {
  const run = document.card.run;
  const total = document.journal?.count ?? 0;
  const entries = useEntries(run, total);
  const seq = route.value.seq;
  const choose = (next) => replaceRoute(link("run", run, "journal", next));
  if (!total) return html`<${Empty} title="The journal is empty" text="Each step of the run is written here before it is taken." />`;
  const first = entries.list[0]?.seq ?? 1;
  const place = seq === undefined ? total - 1 : Math.max(0, Math.min(total - 1, seq - first));
  return html`<div class="journal">
    <div class="scrubber">
      <button type="button" aria-label="Earlier entry" disabled=${place <= 0} onClick=${() => choose(first + place - 1)}>‹</button>
      <label class="sr" for="scrub">Entry of the journal</label>
      <input id="scrub" type="range" min="0" max=${total - 1} value=${place} aria-valuetext=${`entry ${first + place} of ${total}`} onInput=${(event) => choose(first + Number(event.target.value))} />
      <button type="button" aria-label="Later entry" disabled=${place >= total - 1} onClick=${() => choose(first + place + 1)}>›</button>
      <span class="place">entry <b>${first + place}</b> of ${first + total - 1}</span>
      ${seq !== undefined && html`<button type="button" class="quiet" onClick=${() => replaceRoute(link("run", run, "journal"))}>Back to now</button>`}
    </div>
    <div class="columns">
      <${VirtualList} role="list" label=${`Journal, ${plural(total, "entry").replace("entrys", "entries")}`} count=${total} version=${entries.version} goTo=${seq === undefined ? null : place} follows=${seq === undefined} keyOf=${(index) => index} onRange=${entries.ensure} row=${(index) => html`<${Entry} entry=${entries.list[index]} isChosen=${index === place && seq !== undefined} choose=${choose} />`} />
      <${Moment} run=${run} seq=${seq} />
    </div>
  </div>`;
}

function Entry({ entry, isChosen, choose }) {
  if (!entry) return html`<div class="entry placeholder" role="listitem"></div>`;
  return html`<div class=${`entry ${isChosen ? "chosen" : ""}`} role="listitem"><button type="button" aria-current=${isChosen ? "true" : undefined} onClick=${() => choose(entry.seq)}><span class="seq">${entry.seq}</span><span class="time">${clock(entry.at)}</span><span class="type">${visible(entry.type)}</span><span class="summary">${visible(entry.summary || entry.label)}</span></button></div>`;
}

function Moment({ run, seq }) {
  const [state, setState] = useState(null);
  useEffect(() => {
    if (seq === undefined) return setState(null);
    let isGone = false;
    const timer = setTimeout(() => source.at(run, seq).then((found) => !isGone && setState(found), (error) => !isGone && setState({ problem: error.message })), PAUSE_MS);
    return () => ((isGone = true), clearTimeout(timer));
  }, [run, seq]);
  if (seq === undefined) return html`<div class="moment"><${Empty} title="Time travel" text="Choose an entry, or move the slider: you see the run as it stood then, and what its working copy had changed." /></div>`;
  if (!state) return html`<div class="moment" aria-busy="true"><div class="skeleton tall"></div></div>`;
  if (state.problem) return html`<div class="moment"><${Empty} title=${`Entry ${seq}`} text=${state.problem} /></div>`;
  return html`<div class="moment" aria-live="polite">
    <h2>The run at entry ${seq}</h2>
    ${(state.tasks ?? []).length > 0 && html`<ul class="then">${state.tasks.map((task) => html`<li><${State} name=${task.verdict || "pending"} small />${visible(task.title)}</li>`)}</ul>`}
    ${(state.pending ?? []).length > 0 && html`<h3>Under way</h3><ul class="then">${state.pending.map((effect) => html`<li><${State} name="running" small />${visible(typeof effect === "string" ? effect : (effect.label ?? effect.title ?? effect.effect ?? ""))}</li>`)}</ul>`}
    <h3>The working copy then</h3>${state.diff ? html`<${FileDiffs} files=${state.diff.files ?? []} />` : html`<p class="muted">${visible(state.why) || "No snapshot of this moment is known."}</p>`}
    <h3>The entry</h3><${Values} value=${state.entry?.data ?? state.entry} />
  </div>`;
}

function useEntries(run, total) {
  const [held] = useState({ run: null, list: [], asked: new Set() });
  const [version, setVersion] = useState(0);
  if (held.run !== run) Object.assign(held, { run, list: [], asked: new Set() });
  const ensure = (first, last) => {
    for (let page = Math.floor(first / PAGE); page * PAGE <= last; page++) {
      const end = Math.min(total, (page + 1) * PAGE);
      if (held.asked.has(`${page}/${end}`) || (held.list[page * PAGE] && held.list[end - 1])) continue;
      held.asked.add(`${page}/${end}`);
      source.journal(run, page * PAGE + 1, PAGE).then(({ entries }) => {
        entries.forEach((entry, place) => (held.list[page * PAGE + place] = entry));
        setVersion((count) => count + 1);
      }, () => held.asked.delete(`${page}/${end}`));
    }
  };
  return { list: held.list, version, ensure };
}
