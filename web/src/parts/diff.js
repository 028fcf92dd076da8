// Changes to files: side by side where there is room, one below the other on a narrow screen.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Spans } from "./code.js";
import { highlightLines, languageOf } from "./highlight.js";

/** Rows [old number, old text, new number, new text, kind] of the lines of a unified diff. */
export function rowsOfUnified(lines) {
  let [oldNumber, newNumber] = [1, 1];
  const typed = lines.map((line) => {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) {
      [oldNumber, newNumber] = [Number(hunk[1]), Number(hunk[2])];
      return ["gap", null, null, line];
    }
    if (line[0] === "-") return ["del", oldNumber++, null, line.slice(1)];
    if (line[0] === "+") return ["add", null, newNumber++, line.slice(1)];
    return ["same", oldNumber++, newNumber++, line.slice(1)];
  });
  return rowsOfLines(typed);
}

/** The same of lines [kind, old number, new number, text]: removed and added ones of one place stand beside each other. */
export function rowsOfLines(lines) {
  const rows = [];
  let place = 0;
  while (place < lines.length) {
    const [kind, oldNumber, newNumber, text] = lines[place];
    if (kindOf(kind) !== "del") {
      rows.push(kindOf(kind) === "add" ? [null, null, newNumber, text, "add"] : [oldNumber, text, newNumber, text, kindOf(kind)]);
      place++;
      continue;
    }
    let end = place;
    while (end < lines.length && kindOf(lines[end][0]) === "del") end++;
    let stop = end;
    while (stop < lines.length && kindOf(lines[stop][0]) === "add") stop++;
    const [removed, added] = [lines.slice(place, end), lines.slice(end, stop)];
    for (let pair = 0; pair < Math.max(removed.length, added.length); pair++) {
      const [old, fresh] = [removed[pair], added[pair]];
      rows.push([old?.[1] ?? null, old?.[3] ?? null, fresh?.[2] ?? null, fresh?.[3] ?? null, old && fresh ? "change" : old ? "del" : "add"]);
    }
    place = stop;
  }
  return rows;
}

const KINDS = { "-": "del", "+": "add", " ": "same", delete: "del", context: "same" };
const kindOf = (kind) => KINDS[kind] ?? kind;

// Two columns of code need this much room.
const SPLIT_PIXELS = 640;

function useRoom() {
  const node = useRef(null);
  const [width, setWidth] = useState(null);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width));
    observer.observe(node.current.parentElement); // its own width changes with its scroll bar
    setWidth(node.current.parentElement.clientWidth);
    return () => observer.disconnect();
  }, []);
  return [node, width === null || width >= SPLIT_PIXELS];
}

export function Diff({ rows, path, limit = Infinity, label }) {
  const shown = useMemo(() => rows.slice(0, limit), [rows, limit]);
  const colours = useMemo(() => colourColumns(shown, languageOf(path)), [shown, path]);
  const [node, isSplit] = useRoom();
  const Row = !isSplit ? UnifiedRow : SideBySideRow;
  return html`<div ref=${node} class=${isSplit ? "diff split" : "diff unified"} role="region" aria-label=${label ?? `Change of ${path}`} tabindex="0">
    <table><colgroup>${!isSplit ? html`<col class="numbers" /><col />` : html`<col class="numbers" /><col /><col class="numbers" /><col />`}</colgroup><tbody>
      ${shown.map((row, place) => html`<${Row} row=${row} old=${colours.old[place]} fresh=${colours.fresh[place]} />`)}
    </tbody></table>
    ${rows.length > shown.length && html`<p class="cut">${rows.length - shown.length} more lines</p>`}
  </div>`;
}

function colourColumns(rows, language) {
  const column = (place) => {
    const lines = highlightLines(rows.map((row) => visible(row[place] ?? "").replaceAll("\n", "⏎")).join("\n"), language);
    return rows.map((_, index) => lines[index] ?? []);
  };
  return { old: column(1), fresh: column(3) };
}

const WORDS = { del: "removed", add: "added" };
const Cell = ({ number, line, kind }) => html`
  <td class=${`number ${kind}`} data-number=${number ?? ""}></td>
  <td class=${`text ${kind}`}>${WORDS[kind] && html`<span class="sr">${WORDS[kind]}: </span>`}<${Spans} line=${line} /></td>`;

function SideBySideRow({ row, old, fresh }) {
  const [oldNumber, oldText, newNumber, newText, kind] = row;
  if (kind === "gap") return html`<tr class="gap"><td colspan="4">${oldText}</td></tr>`;
  const left = kind === "same" ? "same" : oldText === null ? "empty" : "del";
  const right = kind === "same" ? "same" : newText === null ? "empty" : "add";
  return html`<tr><${Cell} number=${oldNumber} line=${old} kind=${left} /><${Cell} number=${newNumber} line=${fresh} kind=${right} /></tr>`;
}

function UnifiedRow({ row, old, fresh }) {
  const [oldNumber, oldText, newNumber, newText, kind] = row;
  if (kind === "gap") return html`<tr class="gap"><td colspan="2">${oldText}</td></tr>`;
  if (kind === "same") return html`<tr><${Cell} number=${newNumber} line=${fresh} kind="same" /></tr>`;
  return html`${oldText !== null && html`<tr><${Cell} number=${oldNumber} line=${old} kind="del" /></tr>`}
    ${newText !== null && html`<tr><${Cell} number=${newNumber} line=${fresh} kind="add" /></tr>`}`;
}
