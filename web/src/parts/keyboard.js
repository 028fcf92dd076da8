// Keys for the whole page. Lists register what moving and opening means for them.
import { signal } from "@preact/signals";
import { go, link, route } from "../data/route.js";

export const isHelpOpen = signal(false);
/** The list that j, k and Enter act on, or null. */
export const selection = signal(null);

export const KEYS = [
  ["j / k", "next or previous run or event"],
  ["Enter", "open the run, unfold the event"],
  ["Esc", "close, or go back to the board"],
  ["/", "find in this conversation, or search all runs"],
  ["g b", "board"],
  ["g i", "needs you"],
  ["g s", "search"],
  ["g n", "sessions"],
  ["1 … 6", "tabs of a run"],
  ["G", "jump to the newest event"],
  ["?", "this help"],
];
const PLACES = { b: "#/", i: "#/inbox", s: "#/search?q=", n: "#/new" };
const TABS = ["conversation", "tasks", "journal", "commits", "receipt", "charts"];
// The second key of a pair comes within this time.
const PAIR_MS = 1500;
let pairUntil = 0;

export function startKeyboard() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return escape(event);
    if (event.target.closest?.("input, textarea, select, [contenteditable]") || isHelpOpen.value) return;
    if (press(event)) event.preventDefault();
  });
}

function press(event) {
  const { key } = event;
  if (Date.now() < pairUntil && PLACES[key]) return (pairUntil = 0), go(PLACES[key]), true;
  pairUntil = key === "g" ? Date.now() + PAIR_MS : 0;
  if (key === "?") return (isHelpOpen.value = true);
  if (key === "/") return find();
  if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
  if (key === "G") return selection.value?.end?.(), true;
  if (key === "Enter" && !event.target.closest?.("a, button, summary")) return selection.value?.toggle?.(), true;
  if (/^[1-6]$/.test(key) && route.value.page === "run" && route.value.run !== "-") return go(link("run", route.value.run, TABS[key - 1])), true;
  return false;
}

function escape(event) {
  if (isHelpOpen.value) return void (isHelpOpen.value = false);
  if (event.target.closest?.("input, textarea, select")) return event.target.blur();
  if (!event.defaultPrevented && route.value.page !== "board") go("#/");
}

function find() {
  const field = document.getElementById("filter-words") ?? document.getElementById("search-words");
  if (field) field.focus();
  else go("#/search?q=");
  return true;
}

function move(step) {
  if (selection.value) return selection.value.move(step), true;
  const links = [...document.querySelectorAll("main [data-nav]")];
  if (!links.length) return false;
  const place = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, place + step))].focus();
  return true;
}
