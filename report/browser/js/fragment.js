"use strict";
// What the page shows is in the fragment of its address, so that every view has a link and Back works.

const readFragment = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function writeFragment(view) {
  const given = Object.entries(view).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(given)}`;
}

// A link to this view with changes. The page of the list starts over, and the detail closes.
const linkTo = (view, changes) => writeFragment({ ...view, page: "", sample: "", ...changes });
