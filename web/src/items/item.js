// One item of a conversation, with its link and its time.
import { copy } from "../data/actions.js";
import { clock } from "../data/amounts.js";
import { logLink } from "../data/route.js";
import { html } from "../html.js";
import { Call } from "./call.js";
import { FailureItem, FooterItem, NoticeItem, ProcessEndItem, UnknownItem } from "./notices.js";
import { TextItem, ThoughtItem } from "./texts.js";

const KINDS = { text: TextItem, thought: ThoughtItem, call: Call, notice: NoticeItem, failure: FailureItem, unknown: UnknownItem, footer: FooterItem, process_end: ProcessEndItem };

export function Item({ item, list, isSelected, total, isMarked }) {
  const Kind = KINDS[item.type] ?? UnknownItem;
  const address = logLink(list.run, list.log, item.thread, item.id);
  return html`<article class=${`item item-${item.type} ${isSelected ? "selected" : ""} ${isMarked ? "marked" : ""}`} aria-posinset=${(item.index ?? 0) + 1} aria-setsize=${total} id=${`item-${item.id}`} data-item=${item.id}>
    <div class="body"><${Kind} item=${item} list=${list} /></div>
    <div class="edge"><span class="time">${clock(item.at)}</span><a class="quiet link" href=${address} title="Link to this event" aria-label=${`Link to event ${item.id}`} onClick=${() => copy(location.href.split("#")[0] + address, "Link copied")}>#</a></div>
  </article>`;
}

export const Placeholder = () => html`<div class="item placeholder" aria-hidden="true"><div class="bar"></div></div>`;
