// A tool call: its state in place, its input, its output; unfolded for all of it.
import { duration } from "../data/amounts.js";
import { now } from "../data/now.js";
import { pretty, visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Code } from "../parts/code.js";
import { State } from "../parts/state.js";
import { Omitted } from "./texts.js";
import { Images } from "./images.js";
import { SubAgent } from "./sub_agent.js";
import { hasOwnInput, isShownAtOnce, summaryOf, toolView } from "./tools.js";
import { useUnfolded } from "./unfolded.js";
import { RawEvent } from "./raw_event.js";

export function Call({ item, list }) {
  const isAgent = item.detail?.type === "sub_agent" || item.children > 0;
  const [isOpen, toggle] = useUnfolded(`${list.log}/${item.id}`, false);
  const View = toolView(item);
  const hasPreview = isOpen || isShownAtOnce(item);
  return html`<section class=${`call ${item.state} ${isAgent ? "agent" : ""}`} aria-label=${`${item.name || "tool"} ${item.state}`}>
    <button type="button" class="fold" aria-expanded=${isOpen} onClick=${toggle}>
      <span class="chevron" aria-hidden="true"></span><span class="name">${visible(item.name) || "result without a call"}</span>
      <span class="summary">${isAgent ? [item.detail?.kind && html`<b>${visible(item.detail.kind)}</b>`, " ", visible(item.detail?.description || item.summary)] : visible(summaryOf(item))}</span>
      <span class="tail">${item.background && html`<span class="fact">background</span>`}<span class="fact">${elapsed(item)}</span><${State} name=${item.state} small /></span>
    </button>
    ${isAgent && html`<${SubAgent} item=${item} list=${list} isOpen=${isOpen} />`}
    ${!isAgent && hasPreview && html`<div class="inner"><${View} item=${item} isOpen=${isOpen} /><${Images} images=${item.images} /><${Omitted} characters=${item.omitted_characters} lines=${item.omitted_lines} /></div>`}
    ${isOpen && html`<${Facts} item=${item} list=${list} />`}
  </section>`;
}

const elapsed = (item) => (item.seconds != null ? duration(item.seconds) : item.state === "running" && item.at > 1e9 ? duration(Math.max(0, now.value - item.at)) : "");

const Facts = ({ item, list }) => html`<div class="inner facts">
  ${!hasOwnInput(item) && html`<${Code} text=${pretty(item.input)} language="json" label="input" />`}
  <dl class="ids"><dt>id</dt><dd><code>${visible(item.call_id)}</code></dd>${item.message_id && html`<dt>message</dt><dd><code>${visible(item.message_id)}</code></dd>`}${item.input_omitted > 0 && html`<dt>input</dt><dd>${item.input_omitted} more characters are in the log</dd>`}</dl>
  <${RawEvent} item=${item} list=${list} />
</div>`;
