// Markdown of an agent: marked's tokens to elements. HTML in it is shown as text; no image is loaded, no style is kept.
import { Lexer } from "marked";
import { useMemo } from "preact/hooks";
import { safeLink } from "../data/safe_link.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Code } from "./code.js";

// Longer texts are shown as they are: no reply has this length, and a hostile one could keep the parser busy.
const LIMIT_CHARACTERS = 60_000;
const DEEPEST = 24;

export function Markdown({ text }) {
  const nodes = useMemo(() => toNodes(visible(text)), [text]);
  return html`<div class="markdown">${nodes}</div>`;
}

function toNodes(text) {
  if (text.length > LIMIT_CHARACTERS || /^(?:[ \t]*[>*+-][ \t]*){24}/m.test(text)) return html`<pre class="plain">${text}</pre>`;
  try {
    return blocks(new Lexer({ gfm: true }).lex(text), 0);
  } catch {
    return html`<pre class="plain">${text}</pre>`;
  }
}

const blocks = (tokens, depth) => (depth > DEEPEST ? tokens.map((token) => token.raw) : (tokens ?? []).map((token) => block(token, depth)));

function block(token, depth) {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      // The page has its own headings, so those of a text begin below them.
      return html`<div class=${`heading level-${token.depth}`} role="heading" aria-level=${Math.min(6, token.depth + 3)}>${inline(token.tokens, depth)}</div>`;
    case "paragraph":
      return html`<p>${inline(token.tokens, depth)}</p>`;
    case "code":
      return html`<${Code} text=${token.text} language=${(token.lang ?? "").split(/\s/)[0]} />`;
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens, depth + 1)}</blockquote>`;
    case "list":
      return list(token, depth);
    case "table":
      return table(token, depth);
    case "hr":
      return html`<hr />`;
    case "text":
      return token.tokens ? html`<span>${inline(token.tokens, depth)}</span>` : token.text;
    default:
      return html`<p class="raw">${token.raw}</p>`;
  }
}

function list(token, depth) {
  const items = token.items.map((item) => html`<li class=${item.task ? "task" : ""}>${item.task && html`<span class="box" role="img" aria-label=${item.checked ? "done" : "open"}>${item.checked ? "☑" : "☐"}</span>`}${blocks(item.tokens.filter((inner) => inner.type !== "checkbox"), depth + 1)}</li>`);
  return token.ordered ? html`<ol start=${Number(token.start) || 1}>${items}</ol>` : html`<ul>${items}</ul>`;
}

function table(token, depth) {
  const cell = (tag) => (one, place) => html`<${tag} class=${token.align[place] ? `align-${token.align[place]}` : ""}>${inline(one.tokens, depth)}<//>`;
  return html`<div class="table" tabindex="0" role="region" aria-label="Table"><table>
    <thead><tr>${token.header.map(cell("th"))}</tr></thead>
    <tbody>${token.rows.map((row) => html`<tr>${row.map(cell("td"))}</tr>`)}</tbody>
  </table></div>`;
}

const inline = (tokens, depth) => (depth > DEEPEST ? (tokens ?? []).map((token) => token.raw) : (tokens ?? []).map((token) => span(token, depth + 1)));

function span(token, depth) {
  switch (token.type) {
    case "strong":
      return html`<strong>${inline(token.tokens, depth)}</strong>`;
    case "em":
      return html`<em>${inline(token.tokens, depth)}</em>`;
    case "del":
      return html`<del>${inline(token.tokens, depth)}</del>`;
    case "codespan":
      return html`<code>${token.text}</code>`;
    case "br":
      return html`<br />`;
    case "link":
      return anchor(token, depth);
    case "image":
      return html`<span class="image-text">image: ${token.text || "untitled"} (${token.href})</span>`;
    case "text":
    case "escape":
      return token.tokens ? inline(token.tokens, depth) : token.text;
    default:
      return token.raw;
  }
}

function anchor(token, depth) {
  const href = safeLink(token.href);
  const text = inline(token.tokens, depth);
  return href ? html`<a href=${href} rel="noopener noreferrer" target="_blank" title=${href}>${text}</a>` : html`<span>${text} (${token.href})</span>`;
}
