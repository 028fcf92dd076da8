// What this browser remembers: the theme, and whether details are shown whole.
import { signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"];

export const theme = signal(stored("bridle-theme", THEMES, "system"));
/** A phone; and a window with no room for a third column. Their widths are those of narrow.css. */
export const isNarrow = matching("(max-width: 760px)");
export const isMedium = matching("(max-width: 1100px)");

theme.subscribe((value) => {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  store("bridle-theme", value);
});

export const nextTheme = () => (theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]);

function matching(query) {
  const list = matchMedia(query);
  const held = signal(list.matches);
  list.addEventListener("change", (event) => (held.value = event.matches));
  return held;
}

function stored(name, choices, otherwise) {
  try {
    const value = localStorage.getItem(name);
    return choices.includes(value) ? value : otherwise;
  } catch {
    return otherwise; // storage is blocked for files opened from disk in some browsers
  }
}

function store(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // the choice holds until the page is closed
  }
}
