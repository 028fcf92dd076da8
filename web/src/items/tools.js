// The views of the tools that have one of their own; every other tool shows its input and output as text.
import { useMemo } from "preact/hooks";
import { parsedObject, pretty, visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Clipped, NumberedLines } from "../parts/code.js";
import { Diff, rowsOfUnified } from "../parts/diff.js";
import { languageOf } from "../parts/highlight.js";
import { Markdown } from "../parts/markdown.js";
import { TodoList } from "../parts/todo_list.js";

const NOT_DONE = new Set(["denied", "error", "interrupted", "running", "unanswered"]);
// Of a card that is not unfolded, this much is shown.
const PREVIEW_ROWS = 14;
const PREVIEW_LINES = 6;

export function toolView(item) {
  const byDetail = { file_change: FileChange, todo_list: Todos, questions: Questions }[item.detail?.type];
  return byDetail ?? (Object.hasOwn(BY_NAME, item.name) ? BY_NAME[item.name] : Plain);
}

/** Whether the view shows the whole input, so that it is not shown again as JSON. */
export const hasOwnInput = (item) => ["file_change", "todo_list", "questions", "sub_agent"].includes(item.detail?.type) || item.name === "Bash";

/** One line about the call: words instead of the JSON of its input, where there are some. */
export function summaryOf(item) {
  const { detail } = item;
  if (detail?.type === "todo_list") return `${detail.todos.filter((todo) => todo.status === "completed").length} of ${detail.todos.length} done`;
  if (detail?.type === "questions") return detail.questions.map((question) => question.text).join(" ");
  if (item.name !== "StructuredOutput") return item.summary;
  const { summary } = parsedObject(item.input);
  return typeof summary === "string" ? summary : item.summary;
}

/** Whether a folded card shows a part of its content. */
export const isShownAtOnce = (item) => ["file_change", "todo_list", "questions"].includes(item.detail?.type) || item.images?.length > 0 || NOT_DONE.has(item.state) || ["Bash", "ExitPlanMode"].includes(item.name);

function Bash({ item, isOpen }) {
  const command = parsedObject(item.input).command;
  const [, exitCode, rest] = /^Exit code (\d+)\n?([\s\S]*)$/.exec(item.output ?? "") ?? [null, null, item.output ?? ""];
  const output = rest === "(Bash completed with no output)" ? "" : rest;
  const lines = visible(output).replace(/\n+$/, "").split("\n");
  const isCut = !isOpen && lines.length > PREVIEW_LINES;
  return html`<div class="terminal">
    <pre tabindex="0"><span class="prompt" aria-hidden="true">$ </span><span class="command">${visible(typeof command === "string" ? command : item.summary)}</span>${"\n"}${(isCut ? lines.slice(-PREVIEW_LINES) : lines).join("\n") || (item.state === "running" ? "" : html`<span class="dim">no output</span>`)}</pre>
    ${(isCut || exitCode) && html`<p class="cut">${isCut && html`<span>${lines.length - PREVIEW_LINES} earlier lines</span>`}${exitCode && html`<span class="exit">exit code ${exitCode}</span>`}</p>`}
  </div>`;
}

function Read({ item, isOpen }) {
  const parsed = useMemo(() => numbered(item.output ?? ""), [item.output]);
  if (!parsed) return html`<${Plain} item=${item} isOpen=${isOpen} />`;
  return html`<div class="file" tabindex="0" role="region" aria-label=${`Content of ${item.summary}`}><${NumberedLines} ...${parsed} language=${languageOf(item.summary)} /></div>`;
}

/** Lines that begin with their number and a tab or an arrow; null if they do not. */
function numbered(output) {
  const found = visible(output).split("\n").map((line) => /^\s*(\d+)[\t→](.*)$/.exec(line));
  const rest = found.findIndex((match) => !match);
  const kept = rest < 0 ? found : found.slice(0, rest);
  return kept.length && (rest < 0 || rest >= found.length - 4) ? { numbers: kept.map((match) => match[1]), lines: kept.map((match) => match[2]) } : null;
}

function FoundList({ item, isOpen }) {
  if (item.state !== "ok") return html`<${Plain} item=${item} isOpen=${isOpen} />`;
  const lines = visible(item.output ?? "").split("\n").filter(Boolean);
  return html`<ul class="found">${lines.map((line) => {
    const [, path, number, text] = /^([^\s:][^:]*):(\d+):(.*)$/.exec(line) ?? [];
    return html`<li>${path ? html`<span class="path">${path}</span><span class="at">${number}</span><span>${text}</span>` : line}</li>`;
  })}</ul>`;
}

function FileChange({ item, isOpen }) {
  const { detail } = item;
  const rows = useMemo(() => detail.rows ?? rowsOfUnified(detail.lines ?? []), [detail]);
  const words = item.state === "ok" ? detail.action : item.state === "running" ? `${detail.action} under way` : `${detail.action} requested, not made`;
  return html`<div class="change">
    <p class="facts-line"><span class="path">${visible(detail.path)}</span><span class="fact">${words}</span><span class="plus">+${detail.added ?? 0}</span><span class="minus">−${detail.removed ?? 0}</span></p>
    <${Diff} rows=${rows} path=${detail.path} limit=${isOpen ? Infinity : PREVIEW_ROWS} label=${`${words}: ${detail.path}`} />
    ${detail.omitted_lines > 0 && html`<p class="cut">${detail.omitted_lines} more lines are in the log</p>`}
    ${item.state !== "ok" && item.output && html`<${Clipped} text=${item.output} lines=${PREVIEW_LINES} isOpen=${isOpen} kind="bad" />`}
  </div>`;
}

const Todos = ({ item }) => html`<${TodoList} todos=${item.detail.todos} />`;

function Questions({ item }) {
  return html`<div class="questions">${item.detail.questions.map((question) => html`<fieldset>
      <legend>${question.header && html`<span class="fact">${visible(question.header)}</span>`}${visible(question.text)}</legend>
      <ul>${question.options.map((option) => html`<li class=${isChosen(question, option) ? "chosen" : ""}><span class="box" aria-hidden="true">${isChosen(question, option) ? "●" : "○"}</span><span><b>${visible(option.label)}</b>${option.description && html` <span class="muted">${visible(option.description)}</span>`}</span>${isChosen(question, option) && html`<span class="sr"> (chosen)</span>`}</li>`)}</ul>
      <p class="answer">${question.answer != null ? html`Answer: <b>${visible(question.answer)}</b>` : html`<span class="muted">${item.state === "running" ? "Waiting for an answer" : "Not answered"}</span>`}${question.several && html`<span class="fact">several allowed</span>`}</p>
    </fieldset>`)}
    ${item.state !== "ok" && item.output && html`<${Clipped} text=${item.output} kind="bad" />`}</div>`;
}

const isChosen = (question, option) => question.answer != null && question.answer.split(", ").includes(option.label);

const Plan = ({ item }) => html`<div class="speech"><div class="who">Plan</div><${Markdown} text=${String(parsedObject(item.input).plan ?? "")} /></div>`;

// What stands for an image in the text of an answer whose images are shown.
const ONLY_IMAGES = /^(\s*\[image\]\s*)+$/;

function Plain({ item, isOpen }) {
  if (item.images?.length > 0 && ONLY_IMAGES.test(item.output ?? "")) return null;
  const isBad = ["error", "denied", "interrupted"].includes(item.state);
  return html`${item.output ? html`<${Clipped} text=${item.output} lines=${PREVIEW_LINES} isOpen=${isOpen} kind=${isBad ? "bad" : ""} />` : item.state === "running" && !isOpen ? html`<pre class="plain dim">${visible(pretty(item.input)).slice(0, 600)}</pre>` : null}`;
}

const BY_NAME = { Bash, Read, Grep: FoundList, Glob: FoundList, ExitPlanMode: Plan };
