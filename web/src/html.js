// The one way in which markup is made: templates to Preact nodes. Strings become text nodes, never HTML.
import htm from "htm";
import { h } from "preact";

export const html = htm.bind(h);

/** Join the class names that are set. */
export const classes = (...names) => names.filter(Boolean).join(" ");
