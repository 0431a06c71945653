"use strict";
// Everything about one item in one run, put together from the pieces.

// Return the item with its texts, its code in the run, and what the model replied.
async function readSample(collection, run, item) {
  const group = collection.findGroup(item);
  const place = item - collection.offsets[group];
  const [[shared, texts], { codes }, answers] = await Promise.all([
    collection.texts.readRow(group),
    collection.loadStates(run),
    collection.answersOf(run)?.readRow(group),
  ]);
  const sample = {
    item,
    group,
    run,
    collection,
    relation: collection.findRelation(group),
    form: collection.forms[collection.formOf[item]],
    code: codes[item],
    replies: (answers?.[place] ?? []).map(readReply),
  };
  return Object.assign(sample, collection.isQuestions ? readQuestion(sample, shared, texts[place]) : readStatement(sample, shared, texts[place]));
}

function readStatement(sample, shared, texts) {
  const [pairId, head, headId, trueTail, trueTailId, trueTripletId, falseTail, falseTailId, falseTripletId, isAsserted] = shared;
  const [id, text, statement, label, status, attempts] = texts;
  const isTrue = sample.form.is_true_tail;
  const { code, run } = sample;
  const isGuess = (code & UNANSWERED) !== 0 && run.scoring_policy === "coin-flip";
  const hasPrediction = (code & GRADED) !== 0 && ((code & UNANSWERED) === 0 || isGuess);
  const reply = sample.replies.find((found) => found.repeat === run.repeat) ?? null;
  return {
    id, pairId, head, headId, text, label, status,
    tail: isTrue ? trueTail : falseTail,
    tailId: isTrue ? trueTailId : falseTailId,
    tripletId: isTrue ? trueTripletId : falseTripletId,
    otherTail: isTrue ? falseTail : trueTail,
    isAsserted: isAsserted && !isTrue,
    statement: statement === true ? text : statement,
    attempts: (attempts ?? []).map(([number, written, isAccepted, reasons]) => ({ number, text: written ?? text, isAccepted, reasons })),
    prediction: hasPrediction ? ((code & CORRECT) !== 0 ? label : !label) : null,
    reply,
  };
}

function readQuestion(sample, [pointId, head, pairId], [id, text, options, offered, answer, source]) {
  const reply = sample.replies[0] ?? null;
  return {
    id, pairId: pointId, statementsPairId: pairId, head, text, options, offered, answer, source, reply,
    prediction: reply?.voted ?? null,
  };
}

function readReply([repeat, before, after, response, logprobTrue, logprobFalse, reasoning, error, nDropped, answer, rule, voted]) {
  return { repeat, before, after, response, reasoning, error, logprobTrue, logprobFalse, nDropped, answer, rule, voted };
}

// Return the prompt exactly as it was sent; null if it is not stored.
async function readPrompt(sample, reply) {
  if (!reply || reply.before === null) return null;
  const parts = new Series(catalogue.parts);
  const [[before, how], [after]] = await Promise.all([parts.readRow(reply.before), parts.readRow(reply.after)]);
  if (how === 2) return before;
  // Chat messages are stored as JSON, in which the text is escaped.
  return before + (how === 1 ? JSON.stringify(sample.text).slice(1, -1) : sample.text) + after;
}

// Return the turns of a prompt: [role, text] of each chat message, or the whole prompt without a role.
function listTurns(prompt) {
  if (!prompt.startsWith('[{"content":')) return [[null, prompt]];
  try {
    return JSON.parse(prompt).map(({ role, content }) => [String(role), String(content)]);
  } catch {
    return [[null, prompt]];
  }
}
