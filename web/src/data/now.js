// The clock of the page, in the server's seconds; views that show an age follow it.
import { signal } from "@preact/signals";

let offset = 0;
export const now = signal(Date.now() / 1000);
setInterval(() => (now.value = Date.now() / 1000 + offset), 1000);

/** Follow the server's clock, which may differ from the browser's. */
export const setServerTime = (seconds) => {
  if (typeof seconds === "number") offset = seconds - Date.now() / 1000;
};
