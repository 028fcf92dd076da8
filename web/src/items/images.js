// Images that a tool returned, fetched with the token and shown from memory.
import { useEffect, useState } from "preact/hooks";
import { safeImage } from "../data/safe_link.js";
import { source } from "../data/source.js";
import { html } from "../html.js";

export const Images = ({ images }) => (images?.length ? html`<div class="images">${images.map((image, place) => html`<${Picture} image=${image} place=${place} />`)}</div>` : null);

function Picture({ image, place }) {
  const [address, setAddress] = useState(null);
  const href = safeImage(image.href);
  useEffect(() => {
    let isGone = false;
    if (href) source.image(href).then((found) => !isGone && setAddress(found), () => !isGone && setAddress(""));
    return () => (isGone = true);
  }, [href]);
  if (!href || address === "") return html`<span class="muted">An image (${image.media_type ?? "unknown format"}) that cannot be shown.</span>`;
  return address ? html`<img src=${address} alt=${`Image ${place + 1} of the tool's answer`} />` : html`<div class="picture-wait" role="img" aria-label="Image, loading"></div>`;
}
