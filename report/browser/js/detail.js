"use strict";
// Everything about one sample: its fact, its texts, the prompt, the answer, and what the other models said.

async function buildDetail(sample, items, view) {
  const { collection } = sample;
  const peers = await Promise.all(collection.listPeers(sample.run).map((run) => readSample(collection, run, sample.item)));
  return element(
    "article",
    { class: "detail" },
    buildSteps(sample, items, view),
    element("h2", { tabindex: "-1" }, quote(sample.text)),
    collection.isQuestions ? buildOptions(sample) : null,
    element("p", { class: "finding" }, "Right answer: ", buildAnswer(sample, sample.rightAnswer), ". ", swatch(sample.run.model_id), quote(modelName(sample.run.model_id)), " ", buildVerdict(sample), "."),
    buildFacts(sample, view),
    collection.isQuestions ? null : buildWording(sample),
    buildReplies(sample),
    buildPrompt(readPrompt(sample)),
    buildPeers(sample, peers, view),
    await buildForms(sample, view),
  );
}

function buildSteps(sample, items, view) {
  const k = items.indexOf(sample.item);
  const link = (item, text, rel) => (item === undefined ? null : element("a", { href: linkToSample(item, view), rel }, text));
  return element(
    "nav",
    { class: "pages", "aria-label": "Samples" },
    element("a", { href: writeFragment({ ...view, sample: "" }) }, "Back to the list"),
    k < 0 ? null : [link(items[k - 1], "‹ previous", "prev"), element("span", {}, `${count(k + 1)} of ${count(items.length)}`), link(items[k + 1], "next ›", "next")],
  );
}

const section = (title, ...children) => element("section", {}, element("h3", {}, title), children);

const pairsOf = (pairs) => element("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));

const withId = (name, id) => [quote(name), id ? element("small", {}, quote(id)) : null];

function buildFacts(sample, view) {
  if (sample.collection.isQuestions) {
    return pairsOf([
      ["Point", sample.group.head === null ? words(sample.group.relation) : [quote(sample.group.head), " → ", words(sample.group.relation)]],
      ["Facet", `${sample.form.facet}${sample.form.is_negated ? ", negated" : ""}`],
      ["Point id", element("a", { href: linkToFact(sample, view) }, element("code", {}, sample.group.id))],
      ["Question id", element("code", {}, sample.id)],
      ["Source", sample.source && quote(sample.source)],
    ]);
  }
  const kind = sample.form.is_true_tail ? "in the knowledge base" : sample.group.is_asserted ? "asserted to be false by the knowledge base" : "not in the knowledge base";
  return pairsOf([
    ["Head", withId(sample.group.head, sample.head_id)],
    ["Relation", words(sample.group.relation)],
    ["Tail", withId(sample.tail, sample.tail_id)],
    ["This fact is", kind],
    [sample.form.is_true_tail ? "Its false twin has the tail" : "Its true twin has the tail", quote(sample.otherTail)],
    ["Form", sample.form.words],
    ["Pair, triplet and sample id", [sample.group.id, sample.triplet_id, sample.id].map((id, k) => [k ? element("br") : null, element("code", {}, id)])],
    ["All samples", element("a", { href: linkToFact(sample, view) }, "of this fact")],
  ]);
}

const linkToFact = (sample, view) => writeFragment({ method: view.method, model: sample.run.model_id, policy: view.policy, repeat: view.repeat, setting: view.setting, pair: sample.group.id });

// Where the text comes from: the template with its slots filled, and the attempts to reword it.
function buildWording(sample) {
  if (sample.statement === null && !sample.attempts.length) return null;
  const rows = sample.attempts.map((attempt) => element("tr", {}, element("th", { scope: "row" }, String(attempt.number)), element("td", {}, quote(attempt.text ?? "no usable text")), element("td", {}, attempt.is_accepted ? "accepted" : attempt.reasons.map(words).join(", ") || "rejected")));
  return section(
    "How it was worded",
    sample.statement === null ? null : element("p", {}, "From the template: ", element("q", {}, quote(sample.statement)), sample.statement === sample.text ? { as_is: "", accepted: " The text is the same.", fallback: " No rewording was accepted, so the template is the text." }[sample.status] : null),
    rows.length ? buildTable("Attempts to reword it", ["Attempt", "Text", "The gate"], rows) : null,
  );
}

function buildOptions(sample) {
  const right = sample.answer.split("|").at(-1).split(",");
  return [
    sample.options.length ? element("ul", { class: "options" }, sample.options.map((option, k) => { const letter = String.fromCharCode(65 + k); return element("li", { class: right.includes(letter) && "true" }, `${letter}. `, quote(option), right.includes(letter) ? " ✓" : ""); })) : null,
    sample.offered ? element("p", {}, "Offered answer: ", sample.offered) : null,
  ];
}

// The replies of the model: one, or one per repeat of a question.
function buildReplies(sample) {
  const { replies } = sample;
  return section(
    replies.length > 1 ? "The replies" : "The reply",
    replies.map((reply) => [
      replies.length > 1 ? element("h4", {}, `Repeat ${reply.repeat + 1}`) : null,
      reply.reasoning ? element("details", { open: true }, element("summary", {}, "Reasoning"), element("pre", {}, quote(reply.reasoning))) : null,
      reply.error ? element("p", { class: "false" }, "Error: ", quote(reply.error)) : element("pre", { class: "response" }, quote(reply.response || "(empty)")),
      element("p", { class: "note" }, describeReply(reply)),
    ]),
    replies.length ? null : element("p", {}, "None is stored."),
  );
}

function describeReply(reply) {
  const probability = (value) => (Math.exp(value) * 100).toFixed(1);
  return [
    reply.rule ? `Read as ${reply.answer} by the rule “${words(reply.rule)}”. ` : null,
    reply.logprob_true === undefined || reply.logprob_false === undefined ? null : `Probability of True ${probability(reply.logprob_true)} %, of False ${probability(reply.logprob_false)} %. `,
    reply.n_dropped ? `${plural(reply.n_dropped, "demonstration")} did not fit into the prompt.` : null,
  ];
}

function buildPrompt(prompt) {
  if (prompt === null) return null;
  const turns = listTurns(prompt).map(([role, text]) => [role ? element("h4", {}, role) : null, element("pre", {}, quote(text))]);
  return section("The prompt", element("details", { class: "prompt" }, element("summary", {}, `As it was sent, ${plural(prompt.length, "character")}`), turns));
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

function buildPeers(sample, peers, view) {
  const rows = peers.map((peer) =>
    element(
      "tr",
      { class: peer.run === sample.run && "own" },
      element("th", { scope: "row" }, swatch(peer.run.model_id), element("a", { href: writeFragment({ ...view, model: peer.run.model_id, against: "", there: "", sample: view.sample }) }, quote(modelName(peer.run.model_id)))),
      element("td", {}, buildVerdict(peer)),
      element("td", {}, quote(shorten(peer.reply?.response ?? peer.reply?.error ?? ""))),
    ),
  );
  return section("What every model said to this text", buildTable("Answers of every model", ["Model", "Verdict", "Reply"], rows));
}

const shorten = (text) => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

// All forms of the fact, and what each model made of them.
async function buildForms(sample, view) {
  const { collection, group } = sample;
  const runs = collection.listPeers(sample.run);
  const loaded = await Promise.all(runs.map((run) => collection.loadOutcomes(run)));
  const facts = await Promise.all(runs.map((run) => nameFacts(collection, run, new Set(collection.forms))));
  const rows = group.items.map((item) => {
    const { form } = item;
    const name = [form.words ?? element("code", {}, form.name), form.is_true_tail === undefined ? (form.is_negated ? " negated" : "") : form.is_true_tail ? ", true tail" : ", false tail"];
    const marks = runs.map((run, k) => {
      const outcome = loaded[k].outcomes[item.number] ?? "not asked";
      const href = linkToSample(item, { ...view, model: run.model_id, against: "", there: "" });
      return element("td", { class: "mark" }, element("a", { href, class: `verdict ${outcome}`, "aria-label": `${modelName(run.model_id)}: ${outcome}` }, SIGNS[outcome]));
    });
    return element("tr", { class: item === sample.item && "own" }, element("th", { scope: "row" }, name), marks);
  });
  rows.push(element("tr", {}, element("th", { scope: "row" }, "all"), facts.map((names) => element("td", { class: "mark" }, names[group.position]))));
  return section(
    collection.isQuestions ? "All questions about this point" : "All forms of this fact",
    buildTable("All forms of the fact, by model", ["Form", ...runs.map((run) => [swatch(run.model_id), quote(modelName(run.model_id))])], rows),
    element("p", { class: "note" }, "✓ right, ✗ wrong, ? no answer, … unfinished thought, ! failed, · not asked."),
  );
}

const SIGNS = { right: "✓", wrong: "✗", unanswered: "?", unfinished: "…", failed: "!", "left out": "?", "not asked": "·" };

function buildTable(label, heads, rows) {
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, element("table", {}, element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, rows)));
}
