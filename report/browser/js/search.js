"use strict";
// Search in texts: heads, tails, statements, questions and answers. It loads all pieces of the selection, one
// after the other, shows how far it is, and can be stopped.

let runningSearch = null;

function stopSearch() {
  if (runningSearch) runningSearch.isStopped = true;
  runningSearch = null;
}

// Return a function that tells whether a text contains the words, whatever their case.
function matchWords(words) {
  const sought = words.toLowerCase();
  return (text) => typeof text === "string" && text.toLowerCase().includes(sought);
}

// Return the places in a group whose texts contain the words. These are the arrays of the pieces, because making
// samples of them would take most of the time.
function findPlaces({ isQuestions }, run, [shared, texts], answers, matches) {
  const isAll = isQuestions ? matches(shared[1]) : [1, 3, 6].some((k) => matches(shared[k]));
  return (place) =>
    isAll ||
    matches(texts[place][1]) ||
    (isQuestions ? texts[place][2].some(matches) : matches(texts[place][2])) ||
    Boolean(answers?.[place]?.some(([repeat, , , response]) => (isQuestions || repeat === run.repeat) && matches(response)));
}

// Return the items whose texts contain the words. `report` is called with the items so far and the number of
// items that were searched.
async function searchItems(collection, run, items, text, report) {
  stopSearch();
  const search = { isStopped: false };
  runningSearch = search;
  const matches = matchWords(text);
  const readTexts = collection.texts.startReading();
  const readAnswers = collection.answersOf(run)?.startReading() ?? (() => null);
  // In the order of the pieces, whatever the order of the list.
  const inOrder = Uint32Array.from(items).sort();
  const found = [];
  let [end, first, accepts] = [0, 0, null];
  let reportedAt = performance.now();
  for (let k = 0; k < inOrder.length && !search.isStopped; k++) {
    if (inOrder[k] >= end) {
      const group = collection.findGroup(inOrder[k]);
      [first, end] = [collection.offsets[group], collection.offsets[group + 1]];
      let [texts, answers] = [readTexts(group), readAnswers(group)];
      // Waiting for what is here already would take longer than searching it.
      if (texts instanceof Promise || answers instanceof Promise) [texts, answers] = await Promise.all([texts, answers]);
      accepts = findPlaces(collection, run, texts, answers, matches);
    }
    if (accepts(inOrder[k] - first)) found.push(inOrder[k]);
    if (performance.now() - reportedAt > 150) {
      report(found, k + 1);
      // Let the browser draw, and take clicks.
      await new Promise((resume) => setTimeout(resume));
      reportedAt = performance.now();
    }
  }
  if (search.isStopped) return null;
  const isFound = new Set(found);
  return items.filter((item) => isFound.has(item));
}
