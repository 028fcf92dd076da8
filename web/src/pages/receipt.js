// The receipt of a run, as bridle prints it, and the commands that follow from it.
import { copy } from "../data/actions.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";
import { Markdown } from "../parts/markdown.js";

const COMMANDS = [["review", "Look at the commits"], ["merge", "Merge them"], ["undo", "Undo"], ["resume", "Resume"]];

export function Receipt({ document }) {
  const { card, receipt, receipt_markdown: markdown } = document;
  if (!receipt && !markdown) return html`<${Empty} title="No receipt" text="This run has no receipt yet." />`;
  const commands = COMMANDS.filter(([name]) => typeof receipt?.[name] === "string" && receipt[name] && !(name === "resume" && card?.state === "done"));
  return html`<div class="receipt">
    <div class="paper">${markdown ? html`<${Markdown} text=${markdown} />` : html`<pre class="plain" tabindex="0">${visible(JSON.stringify(receipt, null, 2))}</pre>`}</div>
    <aside class="side">
      ${commands.length > 0 && html`<section><h2>Next</h2>${commands.map(([name, title]) => html`<p class="command"><span class="label">${title}<button type="button" class="quiet" aria-label=${`Copy: ${title}`} onClick=${() => copy(receipt[name])}>Copy</button></span><code>${visible(receipt[name])}</code></p>`)}</section>`}
      ${receipt?.isolation && html`<section><h2>Isolation</h2><p><b>${visible(receipt.isolation)}</b></p><p class="muted">${visible(receipt.isolation_scope)}</p></section>`}
      ${document.journal?.head && html`<section><h2>Journal</h2><p>${document.journal.count} entries. Verify every byte of it with <code>bridle audit</code>.</p><p class="hash"><code>${document.journal.head}</code></p></section>`}
    </aside>
  </div>`;
}
