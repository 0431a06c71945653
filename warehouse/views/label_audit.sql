-- Grain: one row per edition and test triplet that at least three models answered.
-- The probability that its label is wrong, from the answers to all samples of the method `pretexeval` about the triplet
-- and its twin (label_audit.py, docs/statistics.md). Answers of a reference model count only about heads that it learned.
-- is_contradicted_by_all: such a label is wrong, or all models share an error; only a person can tell
-- (`pretexeval review export EDITION --what audit`). It counts in all scores.
-- verdicts: what people said of the label. They decide its probability, and estimate how many contradictions are shared
-- errors.
create or replace view label_audit as
with judged as (
    select edition_id, triplet_id, list(verdict order by reviewer) as verdicts
    from human_verdicts
    where question = 'label'
    group by edition_id, triplet_id
)

select
    edition_id,
    relation, head, tail, is_positive,
    n_models, n_contradicting, is_contradicted_by_all, wrong_probability, verdicts,
    doubt, doubt_reason, triplet_id, pair_id
from triplets
left join judged using (edition_id, triplet_id)
where wrong_probability is not null
order by edition_id, wrong_probability desc, n_contradicting desc, relation, head, triplet_id
