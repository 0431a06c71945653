"use strict";
// Show what the address says, and again whenever it changes.

const browser = document.getElementById("browser");
const collections = new Map(catalogue.collections.map((data) => [data.name, new Collection(data)]));
let drawing = 0;
// The last selection with its key, so that moving between its samples and pages selects nothing again.
let selection = { key: null };

async function draw() {
  const mine = ++drawing;
  const isOld = () => mine !== drawing;
  stopSearch();
  try {
    const view = readFragment();
    const collection = collections.get(view.method) ?? collections.values().next().value;
    if (view.model && !collection.runs.some((run) => run.model_id === view.model)) return show(explainModel(collection, view));
    const run = chooseRun(collection, view);
    await collection.prepare();
    const chosen = await choose(collection, run, view);
    if (isOld()) return;
    if (view.sample) await drawDetail(collection, run, view, chosen, isOld);
    else await drawList(collection, run, view, chosen, isOld);
  } catch (error) {
    if (!isOld()) show(explain(error));
    if (!(error instanceof FileMissing)) throw error;
  }
}

async function choose(collection, run, view) {
  const { page, sample, q, ...rest } = view;
  const key = writeFragment(rest);
  if (selection.key !== key) {
    const chosen = await select(collection, run, view);
    selection = { ...chosen, key, items: await order(collection, run, chosen.items, view.order), q: "", found: null };
  }
  return selection;
}

async function drawList(collection, run, view, chosen, isOld) {
  const status = element("p", { role: "status", class: "status" });
  const list = element("div", {});
  const filters = buildFilters(collections, collection, run, view, chosen);
  const fill = async (items, isCut) => {
    const built = [await buildList(collection, run, items, view), buildPages(items, view)].filter(Boolean);
    if (isOld()) return;
    status.replaceChildren(buildStatus(collection, items, isCut, view));
    list.replaceChildren(...built);
  };
  if (!view.q) {
    await fill(chosen.items, false);
    if (!isOld()) show(...filters, status, list);
  } else {
    show(...filters, status, list);
    await drawFound(collection, run, view, chosen, fill, status, isOld);
  }
}

// Search with a bar that shows how far it is and a button that stops it, and show what was found.
async function drawFound(collection, run, view, chosen, fill, status, isOld) {
  if (chosen.q !== view.q) Object.assign(chosen, { q: view.q, found: null });
  if (chosen.found) return fill(chosen.found, false);
  const progress = element("progress", { max: chosen.items.length, value: 0, "aria-label": "Searched" });
  status.replaceChildren(progress, " ", element("button", { type: "button", click: stopSearch }, "Stop"));
  const { found, isStopped } = await searchItems(collection, run, chosen.items, view.q, (nSearched) => (progress.value = nSearched));
  if (isOld()) return;
  chosen.found = found;
  await fill(found, isStopped);
}

async function drawDetail(collection, run, view, chosen, isOld) {
  const [id, place] = view.sample.split(".");
  const item = collection.groups.find((group) => group.id === id)?.items[place];
  if (!item) return show(element("p", { class: "empty" }, "There is no such sample in this edition. ", element("a", { href: writeFragment({ ...view, sample: "" }) }, "Show the list.")));
  const sample = await readSample(collection, run, item);
  const items = view.q && chosen.q === view.q && chosen.found ? chosen.found : chosen.items;
  const detail = await buildDetail(sample, items, view);
  if (isOld()) return;
  show(detail);
  scrollTo(0, 0);
  detail.querySelector("h2").focus({ preventScroll: true });
}

function explain(error) {
  const isMissing = error instanceof FileMissing;
  return element("p", { class: "empty", role: "alert" }, isMissing ? "A file of the data is missing. If the pages were published again since you opened this one, reload it. " : `This page failed: ${error.message}. `, element("a", { href: "index.html" }, "Start over."));
}

// Show no answers of another model, because a reader would take them for those of the model in the address.
function explainModel(collection, view) {
  const known = [...new Set(collection.runs.map((run) => run.model_id))];
  const links = known.map((id) => [" ", element("a", { href: linkTo(view, { model: id }) }, quote(modelName(id)))]);
  return element("p", { class: "empty", role: "alert" }, "There are no answers of ", quote(catalogue.models[view.model]?.label ?? view.model), " here. There are answers of:", links);
}

function show(...children) {
  const focused = document.activeElement?.closest("label")?.firstChild?.textContent;
  browser.replaceChildren(...children.filter(Boolean));
  // A choice in a select draws the page again: keep the focus there.
  if (focused) [...browser.querySelectorAll("label")].find((label) => label.firstChild.textContent === focused)?.querySelector("select, input")?.focus();
}

addEventListener("hashchange", draw);
// The arrow keys lead to the neighbours of a sample, except where they move a cursor or scroll a text.
addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (rel && !event.altKey && !event.ctrlKey && !event.metaKey && !event.target.closest("input, select, pre")) browser.querySelector(`a[rel=${rel}]`)?.click();
});
// Files that are requested before the page is loaded would delay that event until a search has ended.
if (document.readyState === "complete") draw();
else addEventListener("load", draw);
