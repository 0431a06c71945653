"use strict";
// The controls above the list. Every choice is a change of the address.

const DIMENSIONS = { model: "model_id", policy: "scoring_policy", repeat: "repeat", setting: "setting" };
const DIMENSION_NAMES = { model: "Model", policy: "Scoring policy", repeat: "Repeat", setting: "Setting" };
const OUTCOME_NAMES = { "": "All", right: "Right", wrong: "Wrong", unanswered: "No answer", unfinished: "Unfinished thought", failed: "Failed" };
const FACT_NAMES = { "": "All", mastered: "Mastered", missed: "Missed", incomplete: "Incomplete" };
const METHOD_NAMES = { questions: "questions (facets)" };

// Return the run that the view names; what it does not name is as in the first run.
function chooseRun(collection, view) {
  let runs = collection.runs;
  for (const [name, column] of Object.entries(DIMENSIONS)) {
    const wanted = view[name] ?? String(runs[0][column]);
    const found = runs.filter((run) => String(run[column]) === wanted);
    if (found.length) runs = found;
  }
  return runs[0];
}

function buildFilters(collections, collection, run, view, chosen) {
  const go = (name) => (event) => (location.hash = linkTo(view, { [name]: event.target.value }));
  const runSelects = Object.entries(DIMENSIONS).map(([name, column]) => {
    const values = [...new Set(collection.runs.map((other) => other[column]))].filter((value) => value !== undefined && value !== null);
    const label = (value) => (name === "model" ? modelName(value) : words(value));
    return (name === "model" || values.length > 1) && buildSelect(DIMENSION_NAMES[name], values.map((value) => [value, label(value)]), String(run[column]), go(name));
  });
  const forms = [...new Set(collection.forms.filter((form) => form.nMost).map((form) => form.name))];
  const others = collection.listPeers(run).filter((other) => other !== run);
  // The age `new` comes last.
  const ages = listValues(collection, "age").sort((a, b) => (a === "new") - (b === "new") || (a < b ? -1 : 1));
  const methods = [...collections.values()].map(({ name }) => [name, METHOD_NAMES[name] ?? name]);
  const hasPolarity = collection.forms.some((form) => form.is_negated) && forms.length > 1;
  const form = element(
    "form",
    { class: "filters", role: "search", "aria-label": "Filters", submit: (event) => submitSearch(event, view) },
    methods.length > 1 && buildSelect("Asked by", methods, collection.name, (event) => (location.hash = writeFragment({ method: event.target.value, model: view.model, relation: view.relation }))),
    runSelects,
    buildSelect("Relation", [["", "all"], ...listValues(collection, "relation").map((name) => [name, words(name)])], view.relation, go("relation")),
    forms.length > 1 && buildSelect(collection.isQuestions ? "Type" : "Form", [["", "all"], ...forms.map((name) => [name, nameForm(collection, name)])], view.form, go("form")),
    hasPolarity && buildSelect("Polarity", [["", "both"], ["affirmed", "affirmed"], ["denied", "denied"]], view.polarity, go("polarity")),
    !collection.isQuestions && buildSelect("Tail", [["", "both"], ["true", "of the true fact"], ["false", "of the false fact"]], view.tail, go("tail")),
    ages.length > 0 && buildSelect("Oldest release with the fact", [["", "all"], ...ages.map((age) => [age, age])], view.age, go("age")),
    others.length > 0 && buildSelect("Compared with", [["", "nobody"], ...others.map((other) => [other.model_id, modelName(other.model_id)])], view.against, (event) => (location.hash = linkTo(view, { against: event.target.value, there: event.target.value && (view.there || "right") }))),
    view.against && buildSelect("which", [["right", "was right"], ["wrong", "was wrong"], ["unanswered", "gave no answer"], ["mastered", "mastered the fact"], ["missed", "missed the fact"]], view.there, go("there")),
    buildSelect("Order", Object.entries(ORDERS), view.order ?? "fact", go("order")),
    element("label", { class: "search" }, "Search in texts and answers", element("span", {}, element("input", { type: "search", name: "q", value: view.q ?? "" }), element("button", {}, "Search"))),
  );
  return [
    // On a phone the controls would fill the screen.
    element("details", { class: "controls", open: innerWidth > 740 }, element("summary", {}, "Filters, order and search"), form),
    buildChips("Answers", OUTCOME_NAMES, chosen.nOfOutcome, view, "outcome"),
    buildChips(collection.isQuestions ? "Points" : "Facts", FACT_NAMES, { "": Object.values(chosen.nOfFact).reduce((a, b) => a + b), ...chosen.nOfFact }, view, "fact"),
    buildNotes(collection, view),
  ];
}

// Return the values of the groups that are not null, in the order of the groups.
const listValues = (collection, name) => [...new Set(collection.groups.map((group) => group[name]))].filter((value) => value !== null);

function nameForm(collection, name) {
  const found = collection.forms.find((form) => form.name === name);
  return found.facet ? `${name}: ${found.facet}` : found.words;
}

function submitSearch(event, view) {
  event.preventDefault();
  location.hash = linkTo(view, { q: new FormData(event.target).get("q").trim() });
}

function buildSelect(label, options, value, change) {
  const chosen = String(value ?? "");
  return element(
    "label",
    {},
    label,
    element("select", { change }, options.map(([name, text]) => element("option", { value: name, selected: String(name) === chosen }, text))),
  );
}

// A row of links, one per value, each with the number of samples that it would show.
function buildChips(label, names, numbers, view, name) {
  const links = Object.entries(names)
    .filter(([value]) => numbers[value] > 0 || value === (view[name] ?? "") || value === "")
    .map(([value, text]) =>
      element("a", { href: linkTo(view, { [name]: value }), class: `chip ${value}`, "aria-current": value === (view[name] ?? "") && "true" }, text, " ", element("b", {}, count(numbers[value] ?? 0))),
    );
  return element("nav", { class: "chips", "aria-label": label }, element("span", {}, label), links);
}

// Filters that only links set, each with a link that removes it, and one that removes all.
function buildNotes(collection, view) {
  const notes = { pair: `one ${collection.isQuestions ? "point" : "fact"}`, head: view.head && `head “${view.head}”`, negative: view.negative === "asserted" ? "false facts that the base asserts to be false" : "false facts that the base lacks", facet: view.facet && `facet ${view.facet}`, taught: { pool: "facts that the model learned", other: "facts that the model learned in other wordings", nothing: "facts that the model never saw" }[view.taught], q: view.q && `texts with “${view.q}”` };
  Object.assign(notes, {
    judged: "facts as the selected samples alone tell",
    triplet: { right: "triplets with all samples right", wrong: "triplets with a wrong sample", consistent: "triplets with all samples right, or all wrong" }[view.triplet],
    said: view.said === "true" ? "answers that say True" : "answers that say False",
  });
  if (view.form?.includes(",")) notes.form = `forms: ${view.form.split(",").map((name) => nameForm(collection, name)).join("; ")}`;
  const shown = Object.entries(notes).filter(([name]) => view[name]);
  const filtered = ["relation", "form", "facet", "polarity", "tail", "negative", "outcome", "fact", "against", "q", "pair", "head", "taught", "judged", "triplet", "said"].filter((name) => view[name]);
  if (!filtered.length) return null;
  const removed = Object.fromEntries([...filtered, "there"].map((name) => [name, ""]));
  return element(
    "p",
    { class: "note" },
    shown.map(([name, text]) => ["Only ", quote(text), " (", element("a", { href: linkTo(view, { [name]: "" }) }, "remove"), "). "]),
    element("a", { href: linkTo(view, removed) }, "Remove all filters"),
  );
}
