"use strict";
// A collection: the samples of a method, or the questions. Items stand in groups (facts, or points). What a run
// (model, scoring policy, and repeat or setting) made of every item is one code per item.

const GRADED = 1;
const CORRECT = 2;
const UNANSWERED = 4;
const FAILED = 8;
const UNFINISHED = 16;
const NOT_ASKED = 32;
// The code that each character stands for, by the number of the character.
const CODES = Uint8Array.from({ length: 128 }, (_, k) => (String.fromCharCode(k) === "-" ? NOT_ASKED : parseInt(String.fromCharCode(k), 32)));
// What a run made of a group, or of one of its triplets.
const [INCOMPLETE, MISSED, MASTERED, ALL_WRONG] = [0, 1, 2, 3];
const FACTS = ["incomplete", "missed", "mastered", "missed"];

class Collection {
  constructor(data) {
    Object.assign(this, data);
    this.isQuestions = data.kind === "question";
    this.texts = new Series(data.texts);
    this.groupSeries = new Series(data.groups);
    this.relationFirsts = data.relations.map(([, first]) => first);
    this.answers = Object.fromEntries(Object.entries(data.answers).map(([key, parts]) => [key, new Series(parts)]));
    this.states = new Map();
    this.allForms = data.forms.map(() => true);
  }

  // Place the items: `offsets` is the number of each group's first item.
  async place() {
    if (this.offsets) return;
    const perGroup = this.groupForms ? null : await new Series(this.formSeries).readAll();
    const letters = perGroup ? perGroup.join("") : this.groupForms.repeat(this.nGroups);
    const offsets = new Uint32Array(this.nGroups + 1);
    for (let g = 0; g < this.nGroups; g++) {
      offsets[g + 1] = offsets[g] + (perGroup ? perGroup[g] : this.groupForms).length;
    }
    this.formOf = Uint8Array.from(letters, (letter) => letter.charCodeAt(0) - 97);
    this.offsets = offsets;
    this.nOfForm = this.countForms();
  }

  get nItems() {
    return this.offsets[this.nGroups];
  }

  findGroup(item) {
    return findLast(this.offsets.subarray(0, this.nGroups), item);
  }

  findRelation(group) {
    return this.relations[findLast(this.relationFirsts, group)][0];
  }

  // The codes of all items in a run, and which of the groups it masters.
  async loadStates(run) {
    if (!this.states.has(run)) {
      const text = (await new Series(run.states).readAll()).join("");
      const codes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) codes[i] = CODES[text.charCodeAt(i)];
      this.states.set(run, { codes, facts: this.judgeGroups(codes, this.allForms) });
    }
    return this.states.get(run);
  }

  // What a run made of every group, judged by its items of the accepted forms. A group is incomplete if it lacks
  // such an item, or if one is not graded.
  judgeGroups(codes, acceptsForm) {
    const nNeeded = this.nOfForm.reduce((n, most, form) => n + (acceptsForm[form] ? most : 0), 0);
    const facts = new Uint8Array(this.nGroups);
    for (let g = 0; g < this.nGroups; g++) {
      let nGraded = 0;
      let nRight = 0;
      for (let i = this.offsets[g]; i < this.offsets[g + 1]; i++) {
        if (!acceptsForm[this.formOf[i]] || codes[i] === NOT_ASKED) continue;
        nGraded += codes[i] & GRADED;
        nRight += (codes[i] & CORRECT) >> 1;
      }
      if (nGraded === nNeeded) facts[g] = nRight === nNeeded ? MASTERED : nRight ? MISSED : ALL_WRONG;
    }
    return facts;
  }

  // The most items of each form in one group: a group that lacks none has them.
  countForms() {
    const most = new Uint8Array(this.forms.length);
    const nHere = new Uint8Array(this.forms.length);
    for (let g = 0; g < this.nGroups; g++) {
      nHere.fill(0);
      for (let i = this.offsets[g]; i < this.offsets[g + 1]; i++) {
        const form = this.formOf[i];
        most[form] = Math.max(most[form], ++nHere[form]);
      }
    }
    return most;
  }

  // The tenth of the probability of True that a model gives each item, in [0, 9], or null if it gives none.
  async loadLikely(run) {
    const series = this.likely[`${run.model_id}/${run.repeat}`];
    return series ? (await new Series(series).readAll()).join("") : null;
  }

  // The rows [id, head, whether the base asserts that its false fact is false, pair of a point, age of the true fact] of all groups.
  async loadGroups() {
    this.groupRows ??= await this.groupSeries.readAll();
    return this.groupRows;
  }

  async findGroupById(id) {
    return (await this.loadGroups()).findIndex(([groupId]) => groupId === id);
  }

  // The runs of other models that differ in nothing else.
  listPeers(run) {
    return this.runs.filter(
      (other) =>
        other.scoring_policy === run.scoring_policy && other.repeat === run.repeat && other.setting === run.setting,
    );
  }

  answersOf(run) {
    return this.answers[this.isQuestions ? `${run.model_id}/${run.setting}` : run.model_id];
  }
}
