// A to-do list with the state of each entry.
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { stateOf } from "./state.js";

export const TodoList = ({ todos = [] }) => html`<ul class="todos">${todos.map((todo) => {
  const [symbol, word, kind] = stateOf(todo.status);
  return html`<li class=${kind}><span class="symbol" aria-hidden="true">${symbol}</span><span>${visible(todo.text)}</span><span class="sr"> (${word})</span></li>`;
})}</ul>`;
