// A sub-agent: what it was asked, what it does, its own items, its report.
import { count, plural } from "../data/amounts.js";
import { link } from "../data/route.js";
import { threadOf } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Markdown } from "../parts/markdown.js";
import { useState } from "preact/hooks";
import { Item, Placeholder } from "./item.js";

const STEP = 100;

export function SubAgent({ item, list, isOpen }) {
  const detail = item.detail ?? {};
  const facts = [
    detail.model && visible(detail.model),
    plural(item.children ?? item.items?.length ?? 0, "event"),
    detail.tool_uses != null && plural(detail.tool_uses, "tool call"),
    detail.tokens != null && `${count(detail.tokens)} tokens`,
    detail.is_inferred && "inferred: the stream does not say which events are its own",
  ].filter(Boolean);
  return html`<div class="sub-agent">
    <p class="facts-line">${facts.map((fact) => html`<span class="fact">${fact}</span>`)}${detail.doing && item.state === "running" && html`<span class="doing">${visible(detail.doing)}</span>`}</p>
    ${isOpen && html`
      ${detail.prompt && html`<div class="speech"><div class="who">Prompt</div><${Markdown} text=${detail.prompt} /></div>`}
      ${item.children > 0 && html`<${Children} item=${item} list=${list} />`}
      ${detail.report && html`<div class="speech report"><div class="who">Report</div><${Markdown} text=${detail.report} /></div>`}`}
  </div>`;
}

function Children({ item, list }) {
  const held = threadOf(list, item.call_id);
  const [shown, setShown] = useState(STEP);
  held.version.value;
  const from = Math.max(0, held.total - shown);
  held.ensure(from, held.total - 1);
  const places = Array.from({ length: held.total - from }, (_, place) => from + place);
  return html`<div class="children" role="group" aria-label=${`Events of the sub-agent ${item.detail?.description ?? ""}`}>
    ${from > 0 && html`<p class="cut"><button type="button" class="quiet" onClick=${() => setShown(shown + STEP)}>Show ${Math.min(STEP, from)} of ${count(from)} earlier events</button> <a href=${link("run", list.run, "log", list.log, "thread", item.call_id)}>Open alone</a></p>`}
    ${places.map((place) => (held.items[place] ? html`<${Item} key=${held.items[place].id} item=${held.items[place]} list=${held} total=${held.total} />` : html`<${Placeholder} key=${`missing-${place}`} />`))}
  </div>`;
}
