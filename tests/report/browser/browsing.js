({
    // The prompt of every sample: model, method, id and text.
    readPrompts: async () => {
        const prompts = [];
        for (const collection of collections.values()) {
            if (collection.isQuestions) continue;
            await collection.prepare();
            for (const run of collection.runs.filter((run) => run.scoring_policy === "strict"))
                for (const item of collection.items) {
                    const sample = await readSample(collection, run, item);
                    prompts.push([run.model_id, collection.name, sample.id, readPrompt(sample)]);
                }
        }
        return prompts;
    },
    // The ids that a search for each of the words gives, and the ids from the hardest sample to the easiest.
    searchAndOrder: async (words) => {
        const collection = collections.values().next().value;
        const run = chooseRun(collection, { model: "hostile" });
        const { items } = await select(collection, run, {});
        const name = async (item) => (await readSample(collection, run, item)).id;
        const mixed = await order(collection, run, items, "mixed");
        const found = [];
        const ignore = () => null;
        for (const text of words) {
            found.push((await searchItems(collection, run, mixed, text, ignore)).found);
        }
        const list = (all) => Promise.all(all.map(name));
        const hardest = await order(collection, run, items, "hardest");
        return [await Promise.all(found.map(list)), await list(hardest)];
    },
    // How many facts each link selects.
    countFacts: async (fragments) => {
        const counts = [];
        for (const fragment of fragments) {
            const view = Object.fromEntries(new URLSearchParams(fragment));
            const collection = collections.get(view.method) ?? collections.values().next().value;
            await collection.prepare();
            const { items } = await select(collection, chooseRun(collection, view), view);
            counts.push(new Set(items.map(({ group }) => group)).size);
        }
        return counts;
    },
    // The share that each link leads from, computed from the samples behind it.
    computeShares: async (fragments) => {
        const shares = [];
        for (const fragment of fragments) {
            const view = Object.fromEntries(new URLSearchParams(fragment));
            const { outcome, fact, triplet, said, ...rest } = view;
            const collection = collections.get(view.method) ?? collections.values().next().value;
            await collection.prepare();
            const run = chooseRun(collection, view);
            const among = async (extra) => select(collection, run, { ...rest, ...extra });
            const all = (await among({})).nOfOutcome;
            const { mastered, missed } = (await among({})).nOfFact;
            if (outcome === "failed") shares.push(all.failed / all[""]);
            else if (outcome) shares.push(all[outcome] / (all[""] - all.failed));
            else if (fact) shares.push(mastered / (mastered + missed));
            else if (triplet) {
                const [right, wrong] = [await among({ triplet: "right" }), await among({ triplet: "wrong" })];
                const found = await among({ triplet: triplet === "wrong" ? "right" : triplet });
                shares.push(found.items.length / (right.items.length + wrong.items.length));
            } else if (said) {
                const [yes, no] = [await among({ said: "true" }), await among({ said: "false" })];
                shares.push(yes.items.length / (yes.items.length + no.items.length));
            }
            else {
                const { is_correct } = await collection.loadOutcomes(run);
                const graded = (await among({})).items.filter(({ number }) => is_correct[number] !== null);
                shares.push(graded.filter(({ number }) => is_correct[number]).length / graded.length);
            }
        }
        return shares;
    },
})
