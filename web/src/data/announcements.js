// Short messages: for everyone in a corner of the page, for screen readers in a live region.
import { signal } from "@preact/signals";

export const toasts = signal([]);
export const announcement = signal("");

// Long enough to read two sentences.
const SHOWN_MS = 8000;
let last = 0;

export function toast(text, { kind = "info", remedy = "" } = {}) {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind, remedy }];
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export const dismiss = (id) => (toasts.value = toasts.value.filter((shown) => shown.id !== id));
export const announce = (text) => (announcement.value = text);
