"use strict";
// Build elements. Every text becomes a text node, so that no text of the data can become markup.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// A text from the data. `bdi` keeps marks of the writing direction from changing what stands around it.
const quote = (text) => element("bdi", {}, text);

const words = (name) => String(name).replaceAll("_", " ");

const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

function swatch(modelId) {
  const dot = element("span", { class: "swatch", "aria-hidden": "true" });
  dot.style.background = catalogue.models[modelId].colour;
  return dot;
}

const modelName = (modelId) => catalogue.models[modelId].label;

// The fragment of the address holds the view, so that every view has a link and Back works.

const readFragment = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function writeFragment(view) {
  const given = Object.entries(view).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(given)}`;
}

// A link to this view with changes. The page of the list starts over, and the detail closes.
const linkTo = (view, changes) => writeFragment({ ...view, page: "", sample: "", ...changes });
