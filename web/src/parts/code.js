// A block of code, with colours and, if wanted, line numbers.
import { useMemo } from "preact/hooks";
import { copy } from "../data/actions.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { highlightLines } from "./highlight.js";

export const Spans = ({ line }) => line.map(([name, text]) => (name ? html`<span class=${name}>${text}</span>` : text));

export function Code({ text, language = "", label = "" }) {
  const lines = useMemo(() => highlightLines(visible(text), language), [text, language]);
  return html`<figure class="code">
    ${(label || language) && html`<figcaption>${label || language}<button type="button" class="quiet" onClick=${() => copy(text)}>Copy</button></figcaption>`}
    <pre tabindex="0">${lines.map((line, place) => [place > 0 && "\n", html`<${Spans} line=${line} />`])}</pre>
  </figure>`;
}

/** Lines with their numbers. */
export function NumberedLines({ lines, numbers, language }) {
  const coloured = useMemo(() => highlightLines(lines.join("\n"), language), [lines, language]);
  return html`<table class="numbered"><tbody>
    ${coloured.map((line, place) => html`<tr><td class="number" data-number=${numbers[place]}></td><td class="text"><${Spans} line=${line} /></td></tr>`)}
  </tbody></table>`;
}

/** Preformatted text of which the beginning is shown until more is wanted. */
export function Clipped({ text, lines = 12, isOpen, kind = "" }) {
  const shown = useMemo(() => visible(text).replace(/\n+$/, "").split("\n"), [text]);
  const isCut = !isOpen && shown.length > lines;
  return html`<pre class=${`plain ${kind}`} tabindex="0">${isCut ? shown.slice(0, lines).join("\n") : shown.join("\n")}</pre>
    ${isCut && html`<p class="cut">${shown.length - lines} more lines</p>`}`;
}
