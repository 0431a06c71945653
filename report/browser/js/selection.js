"use strict";
// Select the items of a view, and count those of each kind. Only the search needs texts.

const OUTCOMES = {
  right: (outcome) => outcome === "right",
  wrong: (outcome) => outcome === "wrong",
  unanswered: (outcome) => outcome === "unanswered" || outcome === "unfinished",
  unfinished: (outcome) => outcome === "unfinished",
  failed: (outcome) => outcome === "failed",
};
const FACTS = ["incomplete", "missed", "mastered"];
// What a run may have made of a triplet: its half of the items of a fact.
const TRIPLETS = { right: ["mastered"], wrong: ["missed", "all wrong"], consistent: ["mastered", "all wrong"] };
const ORDERS = {
  fact: "by fact",
  hardest: "fewest models right first",
  easiest: "most models right first",
  likeliest: "most probably true first",
  mixed: "in a mixed order",
};

// What a form must be to be selected: transformation or type, polarity, tail.
function acceptForm(form, view) {
  return (
    (!view.form || view.form.split(",").includes(form.name)) &&
    (!view.facet || form.facet === view.facet) &&
    (!view.polarity || form.is_negated === (view.polarity === "denied")) &&
    (!view.tail || form.is_true_tail === (view.tail === "true"))
  );
}

// Return the selected items in the order of the collection, and the numbers of items per outcome and of facts.
async function select(collection, run, view) {
  const forms = new Set(collection.forms.filter((form) => acceptForm(form, view)));
  // Whether a fact is mastered depends on all its items, unless the view says: on the selected forms.
  const judging = view.judged === "selected" ? forms : new Set(collection.forms);
  const { outcomes } = await collection.loadOutcomes(run);
  const facts = await nameFacts(collection, run, judging);
  const tests = [({ number }) => outcomes[number] !== null, ({ form }) => forms.has(form), ...(await listTests(collection, run, view, judging))];
  const accepted = collection.items.filter((item) => tests.every((test) => test(item)));
  const judged = Array.from(new Set(accepted.map(({ group }) => group)), ({ position }) => facts[position]);
  const nOfFact = Object.fromEntries(FACTS.map((name) => [name, judged.filter((fact) => fact === name).length]));
  const ofFact = view.fact ? accepted.filter(({ group }) => facts[group.position] === view.fact) : accepted;
  const choose = (test) => ofFact.filter(({ number }) => test?.(outcomes[number]));
  const nOfOutcome = Object.fromEntries(Object.entries(OUTCOMES).map(([name, test]) => [name, choose(test).length]));
  return { items: view.outcome ? choose(OUTCOMES[view.outcome]) : ofFact, nOfOutcome: { ...nOfOutcome, "": ofFact.length }, nOfFact };
}

async function nameFacts(collection, run, judging) {
  const { is_correct } = await collection.loadOutcomes(run);
  return collection.judgeGroups(is_correct, judging).map((fact) => (fact === "all wrong" ? "missed" : fact));
}

// Return a test of an item for every other filter of the view.
async function listTests(collection, run, view, judging) {
  const { outcomes, is_correct } = await collection.loadOutcomes(run);
  const tests = [];
  if (view.relation) tests.push(({ group }) => group.relation === view.relation);
  if (view.pair) tests.push(({ group }) => group.id === view.pair);
  if (view.head) tests.push(({ group }) => group.head === view.head);
  if (view.age) tests.push(({ group }) => group.age === view.age);
  if (view.negative) tests.push(({ group }) => group.is_asserted === (view.negative === "asserted"));
  if (view.taught) tests.push(({ group }) => group.taught?.[run.model_id] === view.taught);
  const against = collection.listPeers(run).find((other) => other.model_id === view.against);
  if (against && view.there) tests.push(await testOther(collection, against, view.there, judging));
  if (!collection.isQuestions && view.said) {
    tests.push(({ form, number }) => {
      const label = form.is_true_tail !== Boolean(form.is_negated);
      return is_correct[number] !== null && !OUTCOMES.unanswered(outcomes[number]) && (is_correct[number] === label) === (view.said === "true");
    });
  }
  if (!collection.isQuestions && TRIPLETS[view.triplet]) {
    const halves = [false, true].map((side) => collection.judgeGroups(is_correct, new Set([...judging].filter((form) => form.is_true_tail === side))));
    tests.push(({ form, group }) => TRIPLETS[view.triplet].includes(halves[Number(form.is_true_tail)][group.position]));
  }
  return tests;
}

// Test what the other model made of the same item, or of its fact.
async function testOther(collection, other, there, judging) {
  const facts = await nameFacts(collection, other, judging);
  if (FACTS.includes(there)) return ({ group }) => facts[group.position] === there;
  const { outcomes } = await collection.loadOutcomes(other);
  return ({ number }) => Boolean(OUTCOMES[there]?.(outcomes[number]));
}

// Return the items in the order of the view.
async function order(collection, run, items, name) {
  const keys = await listKeys(collection, run, name);
  return keys ? items.toSorted((a, b) => keys(a.number) - keys(b.number)) : items;
}

async function listKeys(collection, run, name) {
  if (name === "mixed") return (number) => Math.imul(number + 1, 2654435761) >>> 0;
  if (name === "likeliest") {
    const { likely } = await collection.loadOutcomes(run);
    return (number) => -(likely?.[number] ?? -1);
  }
  if (name !== "hardest" && name !== "easiest") return null;
  const peers = await Promise.all(collection.listPeers(run).map((other) => collection.loadOutcomes(other)));
  const nRight = collection.items.map(({ number }) => peers.filter(({ is_correct }) => is_correct[number]).length);
  return (number) => (name === "hardest" ? nRight[number] : -nRight[number]);
}

let runningSearch = null;

function stopSearch() {
  if (runningSearch) runningSearch.isStopped = true;
}

// Return the items with the words in their head, tails, texts, options or answers, and whether the search was stopped
// before its end. It loads all files of the selection, one after the other, and reports the number of items so far.
async function searchItems(collection, run, items, words, report) {
  stopSearch();
  const search = { isStopped: false };
  runningSearch = search;
  const sought = words.toLowerCase();
  const found = new Set();
  let nSearched = 0;
  for (const members of Map.groupBy(items, ({ group }) => fileOf(group)).values()) {
    for (const [group, ofGroup] of Map.groupBy(members, ({ group }) => group)) {
      const { shared, items: texts, replies } = await loadGroup(collection, run, group);
      for (const item of ofGroup) {
        const { text, statement, options } = texts[item.place];
        const fields = [group.head, shared.true_fact?.tail, shared.false_fact?.tail, text, statement, ...(options ?? []), ...replies[item.place].map(({ response }) => response)];
        if (fields.some((field) => field?.toLowerCase().includes(sought))) found.add(item);
      }
    }
    nSearched += members.length;
    report(nSearched);
    // Let the browser draw, and take clicks.
    await new Promise((resume) => setTimeout(resume));
    if (search.isStopped) break;
  }
  return { found: items.filter((item) => found.has(item)), isStopped: search.isStopped };
}
