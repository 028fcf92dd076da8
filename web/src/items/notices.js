// Everything around the conversation: sessions, retries, waits, failures, ends of turns and of processes, unknown events.
import { count, duration, money, plural } from "../data/amounts.js";
import { pretty, visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Clipped, Code } from "../parts/code.js";
import { Markdown } from "../parts/markdown.js";
import { State } from "../parts/state.js";
import { Omitted } from "./texts.js";
import { useUnfolded } from "./unfolded.js";

const NOTICES = { retry: ["↻", "warn"], "rate limit": ["◷", "warn"], interrupt: ["■", "warn"], permission: ["⊘", "denied"], compaction: ["⇲", "idle"], hook: ["⚑", "idle"], "background task": ["◔", "idle"], session: ["◆", "idle"] };

export function NoticeItem({ item }) {
  const [symbol, kind] = NOTICES[item.kind] ?? ["·", "idle"];
  const [first, ...rest] = visible(item.text).split("\n");
  return html`<div class=${`notice ${kind}`}>
    <span class="symbol" aria-hidden="true">${symbol}</span><span class="kind">${item.kind}</span>
    <span class="words">${item.kind === "session" ? html`<code>${first}</code>` : first}${rest.length > 0 && html`<span class="more">${rest.join("\n")}</span>`}</span>
    ${item.state && html`<${State} name=${item.state} small />`}
  </div>`;
}

export const FailureItem = ({ item }) => html`<div class="failure" role="group" aria-label="Error">
  <div class="head"><span class="state bad"><span class="symbol" aria-hidden="true">✗</span>error</span><strong>${visible(item.name)}</strong></div>
  <${Clipped} text=${item.text} lines=${8} /><${Omitted} characters=${item.omitted_characters} />
</div>`;

export function UnknownItem({ item, list }) {
  const [isOpen, toggle] = useUnfolded(`${list.log}/${item.id}`, false);
  const raw = item.raw ?? item;
  return html`<div class="unknown">
    <button type="button" class="chip" aria-expanded=${isOpen} onClick=${toggle}><span class="chevron" aria-hidden="true"></span>unknown event <code>${visible(item.kind ?? item.type)}</code>${!isOpen && html`<span class="summary">${visible(typeof raw === "string" ? raw : JSON.stringify(raw)).slice(0, 120)}</span>`}</button>
    ${isOpen && html`<${Code} text=${pretty(raw)} language="json" label="raw" /><${Omitted} characters=${item.omitted_characters} />`}
  </div>`;
}

const tokensOf = (tokens) => tokens && [`${count(tokens.input + tokens.cache_read + tokens.cache_written)} tokens in`, `${count(tokens.output)} out`, tokens.cache_read > 0 && `${count(tokens.cache_read)} from cache`];

export function FooterItem({ item }) {
  const facts = [
    item.cost_usd != null && `${money(item.cost_usd)}${item.earlier_turns ? " so far" : ""}`,
    item.turns != null && plural(item.turns, "turn"),
    item.seconds != null && duration(item.seconds),
    ...(tokensOf(item.tokens) ?? []),
    item.stop_reason && !["end_turn", "tool_use"].includes(item.stop_reason) && `stop reason ${item.stop_reason}`,
    item.terminal_reason && item.terminal_reason !== "completed" && item.terminal_reason.replaceAll("_", " "),
    item.api_error_status && `API status ${item.api_error_status}`,
    item.from_background && "started by a background task",
  ].filter(Boolean);
  return html`<div class=${`result ${item.failed ? "bad" : "ok"}`}>
    <div class="head"><${State} name=${item.failed ? "failed" : "done"} word=${item.failed ? (item.subtype || "failed").replaceAll("_", " ") : "turn finished"} />${facts.map((fact) => html`<span class="fact">${visible(fact)}</span>`)}</div>
    ${item.text && html`<${Markdown} text=${item.text} />`}
    ${item.is_empty && html`<p class="muted">The turn ended without any text.</p>`}
    ${(item.errors ?? []).map((text) => html`<${Clipped} text=${text} kind="bad" />`)}
    ${item.denials?.length > 0 && html`<p class="denials"><${State} name="denied" small />${item.denials.map((denial) => html`<code>${visible(denial.tool)}</code>`)}</p>`}
  </div>`;
}

export const ProcessEndItem = ({ item }) => html`<div class="failure process-end" role="group" aria-label="End of the agent's process">
  <div class="head"><span class="state bad"><span class="symbol" aria-hidden="true">■</span>${item.is_known === false ? "no result" : "process ended"}</span>
    ${item.exit_code != null && html`<strong>exit code ${item.exit_code}</strong>`}<span>${visible(item.reason)}</span></div>
  ${item.stderr && html`<p class="label">standard error${item.omitted_lines ? ` (${plural(item.omitted_lines, "earlier line")} in the log)` : ""}</p><${Clipped} text=${item.stderr} lines=${20} kind="bad" />`}
</div>`;
