// Which cards the user unfolded or folded, kept while rows leave the view and come back.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";

const chosen = new Map();
/** A change to this unfolds or folds every card: null, true or false. */
export const everything = signal(null);

export function useUnfolded(key, otherwise) {
  const [, redraw] = useState(0);
  const isOpen = chosen.get(key) ?? everything.value ?? otherwise;
  const set = (value) => {
    chosen.set(key, value);
    redraw((count) => count + 1);
  };
  return [isOpen, () => set(!isOpen)];
}

export function setEverything(value) {
  chosen.clear();
  everything.value = value;
}
