"use strict";
// Which items a view selects, and how many there are of each kind. Texts are not needed for this.

const OUTCOMES = {
  right: (code) => (code & CORRECT) !== 0 && (code & UNANSWERED) === 0,
  wrong: (code) => (code & GRADED) !== 0 && (code & (CORRECT | UNANSWERED)) === 0,
  unanswered: (code) => (code & UNANSWERED) !== 0,
  unfinished: (code) => (code & UNFINISHED) !== 0,
  failed: (code) => (code & FAILED) !== 0,
};
// What a run may have made of a triplet: its half of the items of a fact.
const TRIPLETS = { right: [MASTERED], wrong: [MISSED, ALL_WRONG], consistent: [MASTERED, ALL_WRONG] };
const ORDERS = {
  fact: "by fact",
  hardest: "fewest models right first",
  easiest: "most models right first",
  likeliest: "most probably true first",
  mixed: "in a mixed order",
};

const nameOutcome = (code) =>
  code === NOT_ASKED ? "not asked" : (["failed", "unfinished", "unanswered", "right", "wrong"].find((name) => OUTCOMES[name](code)) ?? "left out");

// What a form must be to be selected: transformation or type, polarity, tail.
function acceptForm(form, view) {
  const names = view.form ? view.form.split(",") : null;
  return (
    (!names || names.includes(form.name)) &&
    (!view.facet || form.facet === view.facet) &&
    (!view.polarity || form.is_negated === (view.polarity === "denied")) &&
    (!view.tail || form.is_true_tail === (view.tail === "true"))
  );
}

// Return the selected items in the order of the collection, and the numbers of items per outcome and of facts.
async function select(collection, run, view) {
  const acceptsForm = collection.forms.map((form) => acceptForm(form, view));
  // Whether a fact is mastered depends on all its items, unless the view says: on the selected forms.
  const judges = view.judged === "selected" ? acceptsForm : collection.allForms;
  const load = async (of) => {
    const { codes, facts } = await collection.loadStates(of);
    return { codes, facts: judges === acceptsForm ? collection.judgeGroups(codes, judges) : facts };
  };
  const { codes, facts } = await load(run);
  const against = collection.listPeers(run).find((other) => other.model_id === view.against);
  const acceptOther = chooseOther(against ? await load(against) : null, view.there);
  const acceptGroup = await chooseGroups(collection, run, view);
  const acceptItem = await chooseItems(collection, run, codes, judges, view);
  const acceptsCode = Array.from({ length: 33 }, (_, code) => code !== NOT_ASKED && (!view.outcome || Boolean(OUTCOMES[view.outcome]?.(code))));
  const nOfCode = new Uint32Array(33);
  const nOfFact = { incomplete: 0, missed: 0, mastered: 0 };
  const items = [];
  for (let g = 0; g < collection.nGroups; g++) {
    if (!acceptGroup(g)) continue;
    const isFact = !view.fact || FACTS[facts[g]] === view.fact;
    let isAny = false;
    for (let i = collection.offsets[g]; i < collection.offsets[g + 1]; i++) {
      if (codes[i] === NOT_ASKED || !acceptsForm[collection.formOf[i]] || !acceptOther(i, g) || !acceptItem(i, g)) continue;
      isAny = true;
      if (!isFact) continue;
      nOfCode[codes[i]]++;
      if (acceptsCode[codes[i]]) items.push(i);
    }
    if (isAny) nOfFact[FACTS[facts[g]]]++;
  }
  const nOfOutcome = Object.fromEntries(
    Object.entries(OUTCOMES).map(([name, accepts]) => [name, nOfCode.reduce((n, of, code) => n + (accepts(code) ? of : 0), 0)]),
  );
  nOfOutcome[""] = nOfCode.reduce((n, of) => n + of, 0);
  return { items, nOfOutcome, nOfFact };
}

// What the run made of the item's triplet, what it answered, and how likely it found True.
async function chooseItems(collection, run, codes, judges, view) {
  const labels = collection.forms.map((form) => form.is_true_tail !== Boolean(form.is_negated));
  const triplets = !collection.isQuestions && view.triplet in TRIPLETS && [false, true].map((side) => collection.judgeGroups(codes, collection.forms.map((form, k) => judges[k] && form.is_true_tail === side)));
  const likely = view.likely ? ((await collection.loadLikely(run)) ?? "") : null;
  return (i, g) => {
    const form = collection.formOf[i];
    if (triplets && !TRIPLETS[view.triplet].includes(triplets[Number(collection.forms[form].is_true_tail)][g])) return false;
    if (view.said && !collection.isQuestions && ((codes[i] & (GRADED | UNANSWERED)) !== GRADED || ((codes[i] & CORRECT) !== 0) !== (labels[form] === (view.said === "true")))) return false;
    return likely === null || likely[i] === view.likely;
  };
}

// What the other model made of the same item, or of its fact.
function chooseOther(other, there) {
  if (!other || !there) return () => true;
  if (FACTS.includes(there)) return (_, g) => FACTS[other.facts[g]] === there;
  return (i) => Boolean(OUTCOMES[there]?.(other.codes[i]));
}

// Points about a fact that the model mastered, or missed, when it was asked in statements.
async function chooseByStatements(collection, run, view) {
  const statements = view.statements && collection.isQuestions ? collections.get("pretexeval") : null;
  if (!statements) return () => !view.statements;
  const other = statements.runs.find((found) => found.model_id === run.model_id && found.scoring_policy === run.scoring_policy && String(found.repeat) === (view.repeat ?? "0"));
  if (!other) return () => false;
  await statements.place();
  const { facts } = await statements.loadStates(other);
  const groups = new Map((await statements.loadGroups()).map(([id], g) => [id, g]));
  const rows = await collection.loadGroups();
  return (g) => FACTS[facts[groups.get(rows[g][3])]] === view.statements;
}

async function chooseGroups(collection, run, view) {
  const k = collection.relations.findIndex(([name]) => name === view.relation);
  const first = k < 0 ? 0 : collection.relations[k][1];
  const end = k < 0 ? collection.nGroups : (collection.relations[k + 1]?.[1] ?? collection.nGroups);
  if (view.relation && k < 0) return () => false;
  const rows = view.pair || view.head || view.negative || view.age ? await collection.loadGroups() : null;
  const acceptStatements = await chooseByStatements(collection, run, view);
  const taught = view.taught && collection.taught[run.model_id] ? await loadPiece(collection.taught[run.model_id]) : null;
  return (g) =>
    g >= first &&
    g < end &&
    (!taught || taught[g] === view.taught) &&
    acceptStatements(g) &&
    (!rows ||
      ((!view.pair || rows[g][0] === view.pair) &&
        (!view.head || rows[g][1] === view.head) &&
        (!view.negative || rows[g][2] === (view.negative === "asserted")) &&
        (!view.age || rows[g][4] === view.age)));
}

// Return the items in the order of the view.
async function order(collection, run, items, name) {
  if (name === "mixed") return sortBy(items, (i) => Math.imul(i + 1, 2654435761) >>> 0);
  if (name === "likeliest") {
    const likely = (await collection.loadLikely(run)) ?? "";
    return sortBy(items, (i) => 10 - (Number(likely[i]) + 1 || 0));
  }
  if (name !== "hardest" && name !== "easiest") return items;
  const nRight = new Uint16Array(collection.nItems);
  for (const other of collection.listPeers(run)) {
    const { codes } = await collection.loadStates(other);
    for (const i of items) if (codes[i] !== NOT_ASKED && codes[i] & CORRECT) nRight[i]++;
  }
  const most = collection.listPeers(run).length;
  return sortBy(items, name === "hardest" ? (i) => nRight[i] : (i) => most - nRight[i]);
}

// Sort by a whole number from 0 to 2^32 - 1; equal items keep their order. Numbers in one array are sorted ten times
// as fast as pairs with a function that compares them.
const N_PLACES = 2 ** 21;

function sortBy(items, key) {
  if (items.length > N_PLACES) return items.map((i) => [key(i), i]).sort(([a, i], [b, j]) => a - b || i - j).map(([, i]) => i);
  return Array.from(Float64Array.from(items, (i, k) => key(i) * N_PLACES + k).sort(), (value) => items[value % N_PLACES]);
}
