// Texts of the agent, the user and programs, and the model's reasoning.
import { count } from "../data/amounts.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Clipped } from "../parts/code.js";
import { Markdown } from "../parts/markdown.js";
import { useUnfolded } from "./unfolded.js";

const SPEAKERS = { user: "You", program: "Program", stray: "Line outside the protocol" };

export function TextItem({ item, list }) {
  const [isOpen, toggle] = useUnfolded(`${list.log}/${item.id}`, item.speaker !== "program" || (item.text ?? "").length < 400);
  if (item.speaker === "agent")
    return html`<div class=${item.live ? "say live" : "say"}><${Markdown} text=${item.text} /><${Omitted} characters=${item.omitted_characters} /></div>`;
  const name = SPEAKERS[item.speaker] ?? item.speaker;
  return html`<div class=${`speech ${item.speaker}`}>
    <div class="who">${name}${item.speaker === "program" && html`<button type="button" class="quiet" aria-expanded=${isOpen} onClick=${toggle}>${isOpen ? "Fold" : "Unfold"}</button>`}</div>
    ${item.speaker === "stray" ? html`<${Clipped} text=${item.text} isOpen=${isOpen} />` : isOpen ? html`<${Markdown} text=${item.text} />` : html`<p class="folded">${visible(item.text).slice(0, 160)}…</p>`}
    <${Omitted} characters=${item.omitted_characters} />
  </div>`;
}

export function ThoughtItem({ item, list }) {
  const [isOpen, toggle] = useUnfolded(`${list.log}/${item.id}`, false);
  const text = visible(item.text);
  return html`<div class="thought">
    <button type="button" class="fold" aria-expanded=${isOpen} onClick=${toggle}><span class="chevron" aria-hidden="true"></span><span class="name">${item.live ? "Thinking…" : "Thinking"}</span>${!isOpen && html`<span class="summary">${text.replace(/\s+/g, " ").slice(0, 200)}</span>`}</button>
    ${isOpen && html`<div class="inner"><${Markdown} text=${item.text} /></div>`}
    <${Omitted} characters=${isOpen ? item.omitted_characters : 0} />
  </div>`;
}

export const Omitted = ({ characters = 0, lines = 0 }) =>
  characters || lines ? html`<p class="cut">${lines ? `${count(lines)} more lines, ` : ""}${count(characters)} more characters are in the log</p>` : null;
