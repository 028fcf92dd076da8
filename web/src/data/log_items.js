// The items of one conversation: a sparse list, filled page by page as it is seen and by events as they arrive.
import { signal } from "@preact/signals";
import { source } from "./source.js";

export const PAGE = 100;

export class LogItems {
  constructor(run, log, { thread = null, filter = "" } = {}) {
    Object.assign(this, { run, log, thread, filter });
    this.items = [];
    this.total = 0;
    this.loading = new Set();
    this.version = signal(0);
    this.extra = signal({ footer: null, todos: null, gauge: null, isRunning: false });
    this.error = signal(null);
    this.isLoaded = signal(false);
  }

  /** Load the newest page, or everything that is held anew. */
  async reload() {
    await this.#fetch(-PAGE, PAGE);
  }

  /** Load what is missing between two places. */
  ensure(first, last) {
    for (let page = Math.floor(first / PAGE); page * PAGE <= last; page++) {
      const [start, end] = [page * PAGE, Math.min(this.total, (page + 1) * PAGE)];
      if (this.loading.has(page) || !this.#isMissing(start, end)) continue;
      this.loading.add(page);
      this.#fetch(start, PAGE).finally(() => this.loading.delete(page));
    }
  }

  /** Apply an event of the stream. */
  apply(event) {
    const mine = (event.items ?? []).filter((item) => (item.thread ?? null) === this.thread);
    if (event.removed?.length) this.forget();
    if (this.filter) {
      if (mine.length) void this.reload();
    } else {
      this.total = Math.max(event.totals?.[this.thread ?? ""] ?? 0, this.total);
      mine.forEach((item) => this.#put(item, item.index));
    }
    this.#note(event);
    this.version.value++;
  }

  forget() {
    this.items = [];
    this.total = 0;
    void this.reload();
  }

  end() {
    this.extra.value = { ...this.extra.value, isRunning: false };
  }

  async #fetch(start, count) {
    try {
      const answer = await source.items(this.run, this.log, { thread: this.thread, start, count, filter: this.filter });
      if (this.filter) this.items.length = Math.min(this.items.length, answer.total);
      this.total = this.filter ? answer.total : Math.max(this.total, answer.total);
      answer.items.forEach((item, place) => this.#put(item, answer.start + place));
      this.#note(answer);
      this.error.value = null;
      this.isLoaded.value = true;
    } catch (error) {
      this.error.value = error;
    }
    this.version.value++;
  }

  #isMissing(start, end) {
    for (let place = start; place < end; place++) if (!this.items[place]) return true;
    return false;
  }

  #put(item, place) {
    if (!Number.isInteger(place)) return;
    const held = this.items[place];
    if (!held || held.id !== item.id || (item.position ?? 0) >= (held.position ?? 0)) this.items[place] = item;
    this.total = Math.max(this.total, this.filter ? 0 : place + 1);
  }

  #note({ footer, todos, gauge, is_running: isRunning }) {
    const held = this.extra.value;
    this.extra.value = { footer: footer ?? held.footer, todos: todos ?? held.todos, gauge: gauge ?? held.gauge, isRunning: isRunning ?? held.isRunning };
  }
}
