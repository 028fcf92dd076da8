// Any JSON value for people: names beside values, long texts as they are.
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";

const DEEPEST = 6;

export function Values({ value, depth = 0 }) {
  if (value == null) return html`<span class="muted">none</span>`;
  if (typeof value === "string") return value.includes("\n") || value.length > 120 ? html`<pre class="plain" tabindex="0">${visible(value)}</pre>` : html`<span class="value">${visible(value) || "(empty)"}</span>`;
  if (typeof value !== "object") return html`<span class="value">${String(value)}</span>`;
  if (depth >= DEEPEST) return html`<pre class="plain" tabindex="0">${visible(JSON.stringify(value, null, 2))}</pre>`;
  if (Array.isArray(value)) return value.length ? html`<ol class="values">${value.map((one) => html`<li><${Values} value=${one} depth=${depth + 1} /></li>`)}</ol>` : html`<span class="muted">empty list</span>`;
  const names = Object.keys(value);
  return names.length ? html`<dl class="values">${names.map((name) => html`<div><dt>${visible(name)}</dt><dd><${Values} value=${value[name]} depth=${depth + 1} /></dd></div>`)}</dl>` : html`<span class="muted">empty</span>`;
}
