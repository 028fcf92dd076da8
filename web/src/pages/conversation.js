// The conversation of one agent: its items, what is pinned beside them, and a box to go on with its session.
import { useEffect, useRef, useState } from "preact/hooks";
import { logLink, route } from "../data/route.js";
import { isExport, source } from "../data/source.js";
import { openLog, showLog } from "../data/store.js";
import { html } from "../html.js";
import { Item, Placeholder } from "../items/item.js";
import { Empty } from "../parts/empty.js";
import { VirtualList } from "../parts/virtual_list.js";
import { selection } from "../parts/keyboard.js";
import { count, plural } from "../data/amounts.js";
import { FilterBar } from "./filter_bar.js";
import { LogList } from "./log_list.js";
import { MessageBox } from "./message_box.js";
import { SideFacts } from "./side_facts.js";

export function Conversation({ document }) {
  const { run, log: chosen, thread = null, item } = route.value;
  const [filter, setFilter] = useState("");
  const newest = newestLog(document.logs);
  const log = chosen ?? newest?.log;
  useEffect(() => void showLog(run, log, { thread, filter }), [run, log, thread, filter]);
  useEffect(() => setFilter(""), [log, thread]);
  const list = openLog.value;
  if (!log) return html`<${Empty} title="No conversation yet" text=${isExport ? "This run has no agent's log." : "It appears here as soon as an agent starts. What Bridle itself does is in the journal."} />`;
  const facts = document.logs.find((one) => one.log === log);
  return html`<div class="conversation">
    <${LogList} logs=${document.logs} run=${run} chosen=${log} tasks=${document.card?.tasks} checks=${document.checks} />
    <div class="stream">
      <${FilterBar} filter=${filter} onChange=${setFilter} list=${list} />
      ${thread && html`<p class="thread-note">Only the sub-agent <code>${thread}</code>. <a href=${logLink(run, log)}>Back to the whole conversation</a></p>`}
      ${list && list.log === log && html`<${ItemList} key=${`${run}/${log}/${thread}/${filter}`} list=${list} item=${item} />`}
      ${facts && !facts.is_running && facts.session_id && !isExport && html`<${MessageBox} run=${run} log=${facts} />`}
    </div>
    ${list && list.log === log && html`<${SideFacts} list=${list} log=${facts} />`}
  </div>`;
}

export const newestLog = (logs) => logs.reduce((best, log) => (!best || (log.is_running && !best.is_running) || ((log.started_at ?? 0) >= (best.started_at ?? 0) && log.is_running === best.is_running) ? log : best), null);

function ItemList({ list, item }) {
  const version = list.version.value;
  const view = useRef(null);
  const [isStuck, setStuck] = useState(true);
  const [seen, setSeen] = useState(0);
  const [goTo, setGoTo] = useState(null);
  const [selected, setSelected] = useState(null);
  const chosen = useRef(null);
  useEffect(() => {
    setGoTo(null);
    if (item === undefined) return;
    source.item(list.run, list.log, item).then((found) => setGoTo(found.index), () => setGoTo(null));
  }, [item, list]);
  useEffect(() => {
    selection.value = {
      move: (step) => {
        const held = chosen.current;
        const next = Math.max(0, Math.min(list.total - 1, held === null ? view.current.firstVisible() : held + step));
        chosen.current = next; // two keys can come before the next drawing
        setSelected(next);
        view.current.scrollToIndex(next);
      },
      toggle: () => document.querySelector(".item.selected button[aria-expanded]")?.click(),
      end: () => view.current.scrollToEnd(),
    };
    return () => (selection.value = null);
  }, [list]);
  useEffect(() => {
    if (isStuck) setSeen(list.total);
  }, [isStuck, version]);
  if (list.error.value && !list.total) return html`<${Empty} title="This conversation cannot be shown" text=${list.error.value.message} />`;
  if (!list.isLoaded.value && !list.total) return html`<div class="list-frame" aria-busy="true"><div class="scroller"><div class="skeleton"></div><div class="skeleton"></div></div></div>`;
  if (!list.total)
    return list.filter ? html`<${Empty} title="Nothing matches" text="No event of this conversation has what you look for. Change the filter above." />` : html`<${Empty} title="Nothing was said yet" text="The agent has started. Its first words appear here." />`;
  const row = (index) => (list.items[index] ? html`<${Item} item=${list.items[index]} list=${list} total=${list.total} isSelected=${index === selected} isMarked=${item !== undefined && String(list.items[index].id) === String(item)} />` : html`<${Placeholder} />`);
  return html`<div class="list-frame">
    <${VirtualList} handle=${view} count=${list.total} version=${version} goTo=${goTo} row=${row} keyOf=${(index) => list.items[index]?.id ?? `missing-${index}`} onRange=${(first, last) => list.ensure(first, last)} onStick=${setStuck} label=${`Conversation, ${plural(list.total, "event")}`} />
    ${!isStuck && html`<button type="button" class="jump" onClick=${() => view.current.scrollToEnd()}>↓ Newest${list.total > seen ? ` (${count(list.total - seen)} new)` : ""}</button>`}
  </div>`;
}
