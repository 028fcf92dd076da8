// A long list of rows of any height, of which only those near the view are drawn.
import { Component, createRef } from "preact";
import { html } from "../html.js";

// A row that was never drawn counts as this high; a collapsed tool call is about as high.
const ESTIMATE = 56;
// Rows within this distance of the view are drawn too, so that fast scrolling shows few gaps.
const MARGIN = 700;
const NEAR_END = 48;
const DRAWS_IN_A_FRAME = 12;

export class VirtualList extends Component {
  scroller = createRef();
  heights = new Float64Array(0);
  tops = new Float64Array(1);
  range = { first: 0, last: -1 };
  isStuck = true;
  pendingIndex = null;
  goTo = null;
  draws = 0;
  lastTop = 0;
  reported = true;

  constructor(props) {
    super(props);
    this.observer = new ResizeObserver(() => this.settle());
  }

  componentDidMount() {
    this.viewObserver = new ResizeObserver(() => this.settle());
    this.viewObserver.observe(this.scroller.current);
    if (this.props.handle) this.props.handle.current = this;
    this.settle();
  }

  componentWillUnmount() {
    this.observer.disconnect();
    this.viewObserver.disconnect();
  }

  adopt({ count, goTo }) {
    if (count !== this.heights.length) this.resize(count);
    if (goTo === this.goTo) return;
    this.goTo = goTo;
    if (goTo == null) return;
    this.isStuck = false;
    this.pendingIndex = goTo;
  }

  componentDidUpdate() {
    this.settle();
  }

  /** Bring a row to the upper third of the view. */
  scrollToIndex(index) {
    this.isStuck = false;
    this.pendingIndex = index;
    this.settle();
  }

  scrollToEnd() {
    this.isStuck = true;
    this.lastTop = 0;
    this.pendingIndex = null;
    this.settle();
  }

  isAtEnd() {
    const view = this.scroller.current;
    return view.scrollTop + view.clientHeight >= view.scrollHeight - NEAR_END;
  }

  firstVisible() {
    return this.indexAt(this.scroller.current?.scrollTop ?? 0);
  }

  resize(count) {
    const heights = new Float64Array(count);
    heights.set(this.heights.subarray(0, count));
    this.heights = heights;
    this.sum();
  }

  sum() {
    const tops = new Float64Array(this.heights.length + 1);
    for (let place = 0; place < this.heights.length; place++) tops[place + 1] = tops[place] + (this.heights[place] || ESTIMATE);
    this.tops = tops;
  }

  indexAt(offset) {
    let [low, high] = [0, this.heights.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= offset) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, Math.max(0, this.heights.length - 1));
  }

  /** Take over the heights of what is drawn, and keep the first visible row where it is; return whether any changed. */
  measure() {
    const view = this.scroller.current;
    const anchor = this.indexAt(view.scrollTop);
    const within = view.scrollTop - this.tops[anchor];
    let changed = false;
    for (const node of view.children) {
      if (!node.dataset.index) continue;
      const height = node.getBoundingClientRect().height;
      if (Math.abs(this.heights[node.dataset.index] - height) < 0.5) continue;
      this.heights[node.dataset.index] = height;
      changed = true;
    }
    if (!changed) return false;
    this.sum();
    if (!this.isStuck && this.pendingIndex === null) view.scrollTop = this.tops[anchor] + within;
    return true;
  }

  /** Put the view where it belongs: at the end while it follows, at the wanted row, else where the user left it. */
  settle() {
    const view = this.scroller.current;
    if (!view) return;
    // The user scrolled up, and the event of it has not come yet: while a log grows fast, it would never get through.
    // A view that is still at the end was moved by the browser, as its rows are lower than they counted.
    if (this.isStuck && view.scrollTop < this.lastTop - NEAR_END && !this.isAtEnd()) this.isStuck = false;
    const changed = this.measure();
    if (this.pendingIndex !== null && this.heights.length) {
      const index = Math.min(this.pendingIndex, this.heights.length - 1);
      view.scrollTop = Math.max(0, this.tops[index] - view.clientHeight / 4);
      if (this.heights[index] && !changed) this.pendingIndex = null;
    } else if (this.isStuck && this.props.follows !== false) view.scrollTop = view.scrollHeight;
    this.lastTop = view.scrollTop;
    this.report();
    this.look(changed);
  }

  report() {
    if (this.reported === this.isStuck) return;
    this.reported = this.isStuck;
    this.props.onStick?.(this.isStuck);
  }

  look(changed = false) {
    const { first, last } = this.wanted();
    if (!changed && first === this.range.first && last === this.range.last) return;
    // Rows that never come to rest must not keep the page busy: what is left waits for the next frame.
    if (++this.draws < DRAWS_IN_A_FRAME) this.forceUpdate();
    if (this.draws === 1) requestAnimationFrame(() => this.rest());
  }

  rest() {
    const isBehind = this.draws >= DRAWS_IN_A_FRAME;
    this.draws = 0;
    if (isBehind && this.scroller.current) this.forceUpdate();
  }

  wanted() {
    const view = this.scroller.current;
    const top = view?.scrollTop ?? 0;
    const height = view?.clientHeight || 800;
    return { first: this.indexAt(Math.max(0, top - MARGIN)), last: this.heights.length ? this.indexAt(top + height + MARGIN) : -1 };
  }

  onScroll = () => {
    const view = this.scroller.current;
    if (!view) return; // an event of a list that is gone
    this.isStuck = this.isAtEnd();
    this.lastTop = view.scrollTop;
    this.report();
    this.look();
  };

  onWheel = () => (this.pendingIndex = null);

  render({ label, role = "feed", busy, count, goTo, keyOf, row }) {
    this.adopt({ count, goTo });
    this.range = this.wanted();
    const { first, last } = this.range;
    this.props.onRange?.(first, last);
    const rows = [];
    for (let index = first; index <= last; index++) rows.push(html`<${Row} key=${keyOf(index)} index=${index} observer=${this.observer}>${row(index)}<//>`);
    const after = last < 0 ? 0 : this.tops[count] - this.tops[last + 1];
    return html`<div class="scroller" ref=${this.scroller} onScroll=${this.onScroll} onWheel=${this.onWheel} tabindex="0" role=${role} aria-label=${label} aria-busy=${busy ? "true" : "false"}>
      <div class="space" style=${{ height: `${this.tops[first] ?? 0}px` }}></div>
      ${rows}
      <div class="space" style=${{ height: `${after}px` }}></div>
    </div>`;
  }
}

class Row extends Component {
  node = createRef();

  componentDidMount() {
    this.props.observer.observe(this.node.current);
  }

  componentWillUnmount() {
    this.props.observer.unobserve(this.node.current);
  }

  render({ index, children }) {
    return html`<div class="row" data-index=${index} ref=${this.node}>${children}</div>`;
  }
}
