"""The shape of a relation: what its rows imply, because it is transitive, symmetric or an equivalence.

The closure of a transitive relation and the reversed rows of a symmetric one are true, whether the base lists
them or not. Rows cannot tell which relation is which. So if the configuration says nothing, and names are
heads as well as tails, whatever may follow is excluded from the negatives, and the user is asked. The user is
also asked where each head has one tail: if there is no other one, all other tails are false.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import polars as pl

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.hierarchy import list_groups
from pretexeval.knowledge.names import fold_names, list_keys
from pretexeval.primitives.errors import InputError
from tasks.drawing.relation_facts import (
    DIRECTED,
    FUNCTIONAL,
    MAYBE,
    PAIR,
    RelationFacts,
    collect_facts,
    list_edges,
)

MIN_SHARED, MIN_SHARED_SHARE = 3, 0.1
"""With fewer heads that are tails as well, or a smaller share of them, the shape of a relation of possibility
is not guessed. A possibility is rarely passed on: who may have a disease need not be at risk of all that it
may bring. Some findings have the names of diseases, so that the closure in HPO is nearly everything."""
MIN_SORTED, SORTED_SHARE = 10, 0.95
"""A list of pairs is sorted if the head precedes the tail in this share of so many facts of a shared name."""
MIN_FACTS_PER_NAME = 1.25
"""A sorted list of pairs has more facts than this for each name. A hierarchy has few, because most concepts
have one parent."""
MIN_CIRCLE_SHARE = 0.1
"""In a list of symmetric pairs, the names that are above each other make up this share of all pairs. The
circles of a hierarchy are faults of a few concepts."""
MIN_FUNCTIONAL = 20
"""With fewer heads, one tail of each says nothing."""
HEADS_AT_ONCE = 1_000
N_EXAMPLES = 2
_EXAMPLE = pl.format("{} → {}", *PAIR)


def find_shapes(
    base: KnowledgeBase, given: str | Mapping[str, str] | None, possible: Collection[str], *, is_guessed: bool
) -> dict[str, str]:
    """Return relation -> its shape, as it is given or guessed; relations without one are missing.

    Args:
        given: the shape of all relations, or relation -> shape.
        possible: the relations of possibility.
        is_guessed: whether shapes that are not given are guessed.

    Raises:
        InputError: a shape is given for a relation that the base does not have, or a relation is said to be
            functional, and a head has two tails.
    """
    known = dict.fromkeys(base.relations, given) if isinstance(given, str) else dict(given or {})
    if unknown := sorted(known.keys() - set(base.relations)):
        raise InputError(
            f"shape of [knowledge] names {', '.join(unknown)}, but {base.name} has no such relation; it has "
            f"{', '.join(base.relations)}"
        )
    for relation in (name for name, shape in known.items() if shape == FUNCTIONAL):
        _require_function(base, relation)
    others = [relation for relation in base.relations if is_guessed and relation not in known]
    guessed = {name: guess_shape(base, name, is_possible=name in possible) for name in others}
    # Facts of a hierarchy link names of another one, which may be of any kind, without being one.
    plain = [name for name in base.relations if (known | guessed).get(name) in (None, DIRECTED, FUNCTIONAL)]
    for name in _find_linking(base, [name for name in others if name not in possible], plain):
        guessed[name] = guess_shape(base, name, is_possible=False, is_linking=True)
    return {name: shape for name, shape in sorted((known | guessed).items()) if shape is not None}


def guess_shape(
    base: KnowledgeBase, relation: str, *, is_possible: bool, is_linking: bool = False
) -> str | None:
    """Return the guessed shape of a relation; None if no fact follows that the base does not list.

    In a list of symmetric pairs, most names are above each other, or each pair is listed once and sorted. Its
    closure would be nearly everything, so it is not excluded there.

    Args:
        is_possible: whether it is a relation of possibility.
        is_linking: whether facts of another relation can follow.
    """
    facts = replace(collect_facts(base, relation), shape=None)
    shared = facts.head_keys.join(facts.tail_keys, on="key", how="semi")
    least = max(MIN_SHARED, MIN_SHARED_SHARE * facts.heads.height) if is_possible else 1
    if shared["head"].n_unique() < least and not is_linking:
        return None
    circle = max(map(len, list_groups(facts.links, "strong")), default=0)
    tails = facts.tail_keys.join(shared, on="key", how="semi")
    is_shared = pl.col("head").is_in(shared["head"].implode()) | pl.col("tail").is_in(tails["tail"].implode())
    linked = facts.rows.filter(~pl.col("also_true"), is_shared)
    is_large = circle**2 > MIN_CIRCLE_SHARE * facts.head_keys.height * facts.tail_keys.height
    are_pairs = (is_large and 2 * circle > shared["key"].n_unique()) or _is_sorted(linked)
    likely = ("symmetric",) if are_pairs else ("transitive", "symmetric")
    return next((MAYBE + shape for shape in likely if is_linking or list_examples(facts, shape)), None)


def _find_linking(base: KnowledgeBase, relations: Iterable[str], others: Iterable[str]) -> Iterator[str]:
    """Yield each relation of which a fact links two names at the same end of another one."""
    ends = [(other, list_keys(base.select_relation(other), end)["key"]) for other in others for end in PAIR]
    for relation in relations:
        links = collect_facts(base, relation).links
        both = (pl.all_horizontal(pl.all().is_in(keys.implode())) for name, keys in ends if name != relation)
        if any(links.filter(is_linked).height for is_linked in both):
            yield relation


def name_shape(base: KnowledgeBase, relation: str, *, is_possible: bool) -> str | None:
    """Return the shape of a relation, which is also `maybe functional` or `maybe one-to-one`.

    These two exclude nothing: each head has one tail, and in the second one, each tail one head. A relation
    of possibility is neither.
    """
    shape, rows = base.shapes.get(relation), base.select_relation(relation)
    heads, tails = (fold_names(rows.select(PAIR).unique()[end]) for end in PAIR)
    if is_possible or shape is not None or len(heads) < MIN_FUNCTIONAL or not heads.is_unique().all():
        return shape
    return MAYBE + ("one-to-one" if tails.is_unique().all() else FUNCTIONAL)


def ask_for_shapes(base: KnowledgeBase, possible: Collection[str]) -> Iterator[str]:
    """Yield a line per guessed shape, with two facts and the key that settles it.

    Args:
        possible: the relations of possibility.
    """
    for relation in base.relations:
        shape = name_shape(base, relation, is_possible=relation in possible) or ""
        if not shape.startswith(MAYBE):
            continue
        facts, likely = collect_facts(base, relation), shape.removeprefix(MAYBE)
        examples = list_examples(facts, shape) if facts.is_guessed else []
        if facts.may_be_closed:
            examples = [*examples[:1], *list_examples(facts, "transitive")[:1], *examples[1:]]
        reason = "some of its names are heads and tails" if examples else "it links names of another relation"
        if not facts.is_guessed:
            rows = facts.rows.select(PAIR).unique().sort(PAIR).head(N_EXAMPLES)
            yield (
                f"{relation} is {shape}, because each of its heads has one tail: "
                f"{'; '.join(rows.select(_EXAMPLE).to_series())}. If no head can have another one, no other "
                f'tail is doubtful: say in [knowledge] shape.{relation} = "{FUNCTIONAL}", or "{DIRECTED}" if '
                "it can"
            )
            continue
        if len(examples) < N_EXAMPLES:
            examples += _list_examples_elsewhere(base, relation)
        if examples:
            yield (
                f"{relation} is {shape}, because {reason}. Then facts like these, which are not listed, may "
                f"be true, and none is drawn as false: {'; '.join(examples[:N_EXAMPLES])}. Say what is right "
                f'in [knowledge]: shape.{relation} = "{likely}", or another one of "symmetric", '
                f'"transitive", "equivalence" and "{DIRECTED}"'
            )


def list_examples(facts: RelationFacts, shape: str) -> list[str]:
    """Return facts of the first two heads of which a shape implies facts that the base does not list."""
    shaped, plain = (replace(facts, shape=name) for name in (shape.removeprefix(MAYBE), DIRECTED))
    examples: list[str] = []
    # Closures are large, and the first examples are nearly always among the first heads.
    for heads in plain.heads.select("head").iter_slices(HEADS_AT_ONCE):
        implied = shaped.list_true(heads).join(plain.list_true(heads), on=PAIR, how="anti")
        others = implied.filter(fold_names(implied["head"]) != fold_names(implied["tail"]))
        of_heads = others.sort(PAIR).unique("head", keep="first", maintain_order=True)
        examples += of_heads.select(_EXAMPLE).to_series().head(N_EXAMPLES).to_list()
        if len(examples) >= N_EXAMPLES:
            break
    return examples[:N_EXAMPLES]


def _list_examples_elsewhere(base: KnowledgeBase, relation: str) -> list[str]:
    """Return facts of other relations that may be true if this one is their hierarchy."""
    examples: list[str] = []
    for other in (name for name in base.relations if name != relation):
        facts = replace(collect_facts(base, other), hierarchy=list_edges(base, relation), base=None)
        heads = facts.heads.select("head").head(HEADS_AT_ONCE)
        true = facts.list_true(heads)
        of_tails = true.join(facts.relatives, on="tail").select("head", tail="relative")
        plausible = pl.concat([of_tails, facts.list_inherited(heads)]).join(true, on=PAIR, how="anti")
        shown = plausible.sort(PAIR).unique("head", keep="first", maintain_order=True).select(_EXAMPLE)
        examples += [f"{other}: {example}" for example in shown.to_series().head(N_EXAMPLES)]
    return examples[:N_EXAMPLES]


def _require_function(base: KnowledgeBase, relation: str) -> None:
    """Raise InputError if a head has two tested tails."""
    facts = collect_facts(base, relation)
    rows = facts.rows.filter(~pl.col("also_true")).select(PAIR).unique().sort(PAIR)
    for head, tails in rows.group_by("head", maintain_order=True).agg("tail").iter_rows():
        if len(facts.same_tails.find_groups(tails)) > 1:
            raise InputError(
                f'shape.{relation} of [knowledge] is "{FUNCTIONAL}", but {head!r} has several tails '
                f"({', '.join(tails[:N_EXAMPLES])}): delete the key, or correct the rows"
            )


def _is_sorted(rows: pl.DataFrame) -> bool:
    """Return whether nearly all heads precede their tails by name or id, without being their beginning.

    A code that begins another one is its parent in a classification. Names that differ by a number only, such
    as stages, are in an order, which is transitive.
    """
    names = pl.concat([rows["head"], rows["tail"]]).unique()
    if len(names) > 2 * names.str.replace_all(r"\d+", "").n_unique():
        return False
    # Ids that are numbers are sorted as numbers.
    ids = pl.col("head_id").str.zfill(20), pl.col("tail_id").str.zfill(20)
    ends = [(pl.col("head"), pl.col("tail")), ids]
    is_before = [
        (head.str.to_lowercase() < tail.str.to_lowercase()) & ~tail.str.starts_with(head)
        for head, tail in ends
    ]
    shares = [rows.select(column.fill_null(value=False).mean()).item() for column in is_before]
    n_least = max(MIN_SORTED, MIN_FACTS_PER_NAME * len(names))
    return rows.height >= n_least and max(shares) >= SORTED_SHARE
