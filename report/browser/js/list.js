"use strict";
// The list of the selected samples, a page of them at a time.

const N_PER_PAGE = 25;

const nameItems = (collection) => (collection.isQuestions ? "question" : "sample");

function buildStatus(collection, items, isCut, view) {
  const page = Number(view.page || 1);
  const first = (page - 1) * N_PER_PAGE;
  const last = Math.min(first + N_PER_PAGE, items.length);
  if (!items.length) return `No ${nameItems(collection)} matches.`;
  return `${plural(items.length, nameItems(collection))}${isCut ? " so far" : ""}; ${count(first + 1)} to ${count(last)} shown.`;
}

async function buildList(collection, run, items, view) {
  const first = (Number(view.page || 1) - 1) * N_PER_PAGE;
  const shown = await Promise.all(items.slice(first, first + N_PER_PAGE).map((item) => readSample(collection, run, item)));
  return element("ol", { class: "samples", start: first + 1 }, shown.map((sample) => element("li", { class: sample.outcome }, buildSummary(sample, view))));
}

function buildSummary(sample, view) {
  return [
    buildFact(sample),
    element("a", { class: "text", href: linkToSample(sample.item, view) }, quote(sample.text)),
    element("p", { class: "said" }, sample.form.words ?? element("code", {}, sample.form.name), sample.form.facet && sample.form.is_negated ? " negated" : null, " · right answer ", buildAnswer(sample, sample.rightAnswer), " · ", swatch(sample.run.model_id), quote(modelName(sample.run.model_id)), " ", buildVerdict(sample)),
  ];
}

function buildFact(sample) {
  const tail = sample.collection.isQuestions ? null : [" → ", sample.form.is_true_tail ? quote(sample.tail) : element("s", { title: "false: not in the knowledge base" }, quote(sample.tail))];
  return element("p", { class: "fact" }, sample.group.head === null ? null : [quote(sample.group.head), " → "], element("i", {}, words(sample.group.relation)), tail);
}

// An answer in words: True, or the letters of a question.
function buildAnswer(sample, answer) {
  if (!sample.collection.isQuestions) return element("b", {}, answer ? "True" : "False");
  const [judgement, letter] = answer.split("|");
  if (letter) return element("b", {}, `${judgement === "T" ? "right" : "wrong"}, ${letter} is right`);
  return element("b", {}, { T: "True", F: "False" }[answer] ?? answer.replaceAll(",", ", "));
}

// What the model answered, and whether that is right, in words and with a sign.
function buildVerdict(sample) {
  const name = sample.outcome;
  if (name === "failed") return element("span", { class: "verdict failed" }, "no response: the prompt failed");
  if (name === null) return element("span", { class: "verdict" }, "was not asked");
  if (name === "unanswered" || name === "unfinished") {
    const counted = sample.isCorrect === null ? ", left out" : sample.isCorrect ? ", guessed right" : ", counts as wrong";
    return element("span", { class: "verdict wrong" }, (name === "unfinished" ? "thought without an end" : "gave no answer") + counted);
  }
  if (sample.prediction === null) return element("span", { class: "verdict" }, name);
  return element("span", { class: `verdict ${name}` }, "answered ", buildAnswer(sample, sample.prediction), name === "right" ? " ✓" : " ✗");
}

const linkToSample = ({ group, place }, view) => writeFragment({ ...view, sample: `${group.id}.${place}` });

function buildPages(items, view) {
  const page = Number(view.page || 1);
  const last = Math.ceil(items.length / N_PER_PAGE);
  if (last < 2) return null;
  const link = (to, text, rel) => (to < 1 || to > last || to === page ? null : element("a", { href: writeFragment({ ...view, page: to === 1 ? "" : to }), rel }, text));
  return element("nav", { class: "pages", "aria-label": "Pages" }, link(1, "first"), link(page - 1, "‹ previous", "prev"), element("span", {}, `page ${count(page)} of ${count(last)}`), link(page + 1, "next ›", "next"), link(last, "last"));
}
