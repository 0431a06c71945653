"use strict";
// The selection as CSV, with the columns of the warehouse's views prediction_details and facet_details.

const COLUMNS = {
  statement: {
    edition_id: () => catalogue.edition,
    model_id: (s) => s.run.model_id,
    model: (s) => modelName(s.run.model_id),
    method: (s) => s.collection.name,
    relation: (s) => s.relation,
    head: (s) => s.head,
    tail: (s) => s.tail,
    is_positive: (s) => s.form.is_true_tail,
    pair_id: (s) => s.pairId,
    triplet_id: (s) => s.tripletId,
    sample_id: (s) => s.id,
    transformation: (s) => (s.form.is_negated === null ? null : s.form.name),
    text: (s) => s.text,
    label: (s) => s.label,
    scoring_policy: (s) => s.run.scoring_policy,
    repeat: (s) => s.run.repeat,
    prediction: (s) => s.prediction,
    is_correct: (s) => readIsCorrect(s.code),
    is_failed: (s) => OUTCOMES.failed(s.code),
    is_unfinished_reasoning: (s) => OUTCOMES.unfinished(s.code),
    response: (s) => s.reply?.response,
    reasoning: (s) => s.reply?.reasoning,
    error: (s) => s.reply?.error,
  },
  question: {
    edition_id: () => catalogue.edition,
    setting: (s) => s.run.setting,
    model_id: (s) => s.run.model_id,
    model: (s) => modelName(s.run.model_id),
    scoring_policy: (s) => s.run.scoring_policy,
    relation: (s) => s.relation,
    head: (s) => s.head,
    point_id: (s) => s.pairId,
    question_id: (s) => s.id,
    facet: (s) => s.form.facet,
    type: (s) => s.form.name,
    is_negated: (s) => s.form.is_negated,
    text: (s) => s.text,
    options: (s) => s.options.join(" | "),
    offered: (s) => s.offered,
    answer: (s) => s.answer,
    prediction: (s) => s.prediction,
    is_correct: (s) => readIsCorrect(s.code),
    response: (s) => s.reply?.response,
    reasoning: (s) => s.reply?.reasoning,
    error: (s) => s.reply?.error,
  },
};

const readIsCorrect = (code) => (code & GRADED ? (code & CORRECT) !== 0 : null);

// A spreadsheet would run a text that begins like a formula; an apostrophe in front makes it a text.
function writeCell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Return the parts of a CSV file of the items, or null if `isStopped` says so in between.
async function writeTable(collection, run, items, report, isStopped) {
  const columns = COLUMNS[collection.kind];
  const parts = [`${Object.keys(columns).join(",")}\r\n`];
  for (let k = 0; k < items.length; k++) {
    if (isStopped()) return null;
    const sample = await readSample(collection, run, items[k]);
    parts.push(`${Object.values(columns).map((read) => writeCell(read(sample))).join(",")}\r\n`);
    if (k % 500 === 499) {
      report(k + 1);
      await new Promise((resume) => setTimeout(resume));
    }
  }
  return parts;
}

function saveFile(name, parts) {
  const address = URL.createObjectURL(new Blob(["\ufeff", ...parts], { type: "text/csv;charset=utf-8" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
