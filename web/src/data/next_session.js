// After a prompt or a message was sent: open the log of its agent as soon as the server knows it.
import { effect } from "@preact/signals";
import { go, logLink, NO_RUN } from "./route.js";
import { board } from "./store.js";

// An agent that has no log after this time was refused, and the message of that was shown.
const PATIENCE_MS = 60_000;

/** Remember the sessions of this moment; returns a function that waits for the next one, and opens it if the user is still here. */
export function nextSession() {
  const known = new Set((board.peek()?.sessions ?? []).map((log) => log.log));
  const from = location.hash;
  return () => {
    const stop = effect(() => {
      const fresh = (board.value?.sessions ?? []).find((log) => !known.has(log.log));
      if (!fresh) return;
      queueMicrotask(() => {
        stop();
        if (location.hash === from) go(logLink(NO_RUN, fresh.log));
      });
    });
    setTimeout(stop, PATIENCE_MS);
  };
}
