"use strict";
// Load the data: scripts in data/ that call receive, because `fetch` does not work for a page from a file.

const catalogue = JSON.parse(document.getElementById("catalogue").textContent);
// Files of at most about 0.5 MB that are kept; the detail of a sample needs one of each model.
const N_FILES_KEPT = 100;
const files = new Map();

class FileMissing extends Error {}

function receive(value) {
  document.currentScript.value = value;
}

function load(path) {
  const file = files.get(path) ?? request(path);
  // A map keeps the order of insertion: the first file is the one that was not used for longest.
  files.delete(path);
  files.set(path, file);
  while (files.size > N_FILES_KEPT) files.delete(files.keys().next().value);
  return file;
}

function request(path) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.addEventListener("load", () => {
      script.remove();
      resolve(script.value);
    });
    script.addEventListener("error", () => {
      script.remove();
      files.delete(path);
      reject(new FileMissing(path));
    });
    script.src = `data/${path}.js`;
    document.head.append(script);
  });
}

// A collection: the samples of a method, or the questions. Items stand in groups (facts, or points).
class Collection {
  constructor(data) {
    Object.assign(this, data);
    this.isQuestions = data.kind === "questions";
    this.outcomes = new Map();
  }

  // Load the groups once, and make an object of each of their items.
  prepare() {
    this.prepared ??= this.listItems();
    return this.prepared;
  }

  async listItems() {
    this.groups = await load(`${this.index}/0`);
    this.items = [];
    this.groups.forEach((group, position) => {
      group.position = position;
      group.items = group.forms.map((form, place) => ({ group, place, form: this.forms[form], number: this.items.length + place }));
      this.items.push(...group.items);
      // A group that lacks no item has the most items of each form.
      for (const form of new Set(group.forms)) {
        this.forms[form].nMost = Math.max(this.forms[form].nMost ?? 0, group.forms.filter((other) => other === form).length);
      }
    });
  }

  // Load what became of the answers of a run, by the numbers of the items: outcomes, is_correct and likely.
  loadOutcomes(run) {
    if (!this.outcomes.has(run)) this.outcomes.set(run, load(`${run.outcomes}/0`));
    return this.outcomes.get(run);
  }

  // Return what a run made of every group, judged by its items of these forms: incomplete (it lacks such an item, or
  // one is not graded), mastered, missed or all wrong.
  judgeGroups(isCorrect, forms) {
    const nNeeded = [...forms].reduce((n, form) => n + (form.nMost ?? 0), 0);
    return this.groups.map(({ items }) => {
      const graded = items.filter((item) => forms.has(item.form) && isCorrect[item.number] !== null);
      const nRight = graded.filter((item) => isCorrect[item.number]).length;
      if (graded.length !== nNeeded) return "incomplete";
      return nRight === nNeeded ? "mastered" : nRight ? "missed" : "all wrong";
    });
  }

  // Return the runs of all models that differ in nothing else.
  listPeers(run) {
    return this.runs.filter((other) => other.scoring_policy === run.scoring_policy && other.repeat === run.repeat && other.setting === run.setting);
  }
}

const fileOf = (group) => Math.floor(group.position / catalogue.nPerFile);

// Load the texts of a group and, for each of its items, what the model of the run replied.
async function loadGroup(collection, run, group) {
  const [texts, { groups, parts }] = await Promise.all([load(`${collection.texts}/${fileOf(group)}`), load(`${run.replies}/${fileOf(group)}`)]);
  const place = group.position % catalogue.nPerFile;
  return { ...texts[place], replies: groups[place], parts };
}

// Return everything about an item in a run.
async function readSample(collection, run, item) {
  const { group, form } = item;
  const [{ shared, items, replies, parts }, { outcomes, is_correct }] = await Promise.all([loadGroup(collection, run, group), collection.loadOutcomes(run)]);
  const sample = { collection, run, item, group, form, outcome: outcomes[item.number], isCorrect: is_correct[item.number], ...items[item.place], replies: replies[item.place], parts };
  sample.reply = sample.replies[0] ?? null;
  if (collection.isQuestions) return { ...sample, rightAnswer: sample.answer, prediction: sample.reply?.prediction ?? null };
  const [own, other] = form.is_true_tail ? [shared.true_fact, shared.false_fact] : [shared.false_fact, shared.true_fact];
  const prediction = sample.isCorrect === null ? null : sample.isCorrect === sample.label;
  return { ...sample, ...own, head_id: shared.head_id, otherTail: other?.tail ?? "–", rightAnswer: sample.label, prediction };
}

// Return the prompt exactly as it was sent; null if it is not stored.
function readPrompt({ reply, parts, text }) {
  if (reply?.prompt === undefined) return null;
  // Chat messages are stored as JSON, in which the text is escaped.
  return reply.prompt.map((k) => parts[k]).join(reply.is_escaped ? JSON.stringify(text).slice(1, -1) : text);
}
