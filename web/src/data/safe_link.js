// Links in an agent's text: web addresses and mail only, opened apart from this page.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/** Return the address if it may be followed, else null. */
export function safeLink(href) {
  try {
    const url = new URL(String(href));
    return ALLOWED.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Images are shown from this server or from the document itself, in formats that cannot hold scripts. */
export function safeImage(href) {
  const text = String(href ?? "");
  if (/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/.test(text)) return text;
  return /^\/api\/[\w\-./%?=&:]*$/.test(text) ? text : null;
}
