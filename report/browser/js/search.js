"use strict";
// Search in texts: heads, tails, statements, questions and answers. It loads all pieces of the selection, one
// after the other, shows how far it is, and can be stopped.

let runningSearch = null;

function stopSearch() {
  if (runningSearch) runningSearch.isStopped = true;
  runningSearch = null;
}

// Return the items whose texts contain the words. `report` is called with the items so far and the number of
// items that were searched.
async function searchItems(collection, run, items, text, report) {
  stopSearch();
  const search = { isStopped: false };
  runningSearch = search;
  const sought = text.toLowerCase();
  const found = [];
  let reportedAt = performance.now();
  for (let k = 0; k < items.length && !search.isStopped; k++) {
    const sample = await readSample(collection, run, items[k]);
    if (sample.searched.some((part) => part?.toLowerCase().includes(sought))) found.push(items[k]);
    if (performance.now() - reportedAt > 150) {
      report(found, k + 1);
      // Let the browser draw, and take clicks.
      await new Promise((resume) => setTimeout(resume));
      reportedAt = performance.now();
    }
  }
  return search.isStopped ? null : found;
}
