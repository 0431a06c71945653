"""Find words next to an entity that make it another entity: "acute X", "X vaccine", "resistance to X"."""

from collections.abc import Iterator, Sequence

from gate.entities import SLOTS
from gate.words import list_words

# Before a name, these words restrict it to a subtype, a site or a group of patients.
_NARROWING = list_words(
    """
    acute chronic subacute left right bilateral unilateral anterior posterior proximal distal juvenile
    infantile childhood pediatric adult neonatal congenital acquired idiopathic familial hereditary
    sporadic primary secondary tertiary benign malignant metastatic invasive recurrent relapsed
    refractory severe mild moderate advanced early late fatal localized diffuse focal generalized
    partial incomplete latent atypical pulmonary hepatic renal cardiac gastric intestinal cerebral
    cutaneous ocular pancreatic ovarian uterine prostatic colorectal colonic bladder breast lung liver
    kidney brain skin bone thyroid gestational alcoholic viral bacterial fungal autoimmune inflammatory
    ischemic hemorrhagic obstructive allergic anti pre post pseudo sub hyper hypo para mini micro
    synthetic recombinant topical intravenous inhaled nasal male female maternal fetal elderly suspected
    untreated
    """
)
# After a name, these words make it a thing of another type.
_TYPE_CHANGING = list_words(
    """
    vaccine vaccines vaccination inhibitor inhibitors antagonist antagonists agonist agonists blocker
    blockers receptor receptors resistance deficiency intolerance allergy hypersensitivity antibody
    antibodies toxicity poisoning overdose withdrawal syndrome carcinoma cancer tumor tumors metastasis
    metastases analog analogs analogue derivative derivatives metabolite precursor promoter knockout
    like mimic mimics transplant transplantation screening surgery resection phobia virus bacteria
    negative subtype type stage grade class pathway
    """
)
_ATTACHING = frozenset(("of", "to", "against", "for", "the", "a", "an"))
_ORGANS = list_words(
    """
    lung liver kidney breast brain skin bone heart stomach colon rectum pancreas ovary uterus cervix
    prostate bladder thyroid esophagus larynx pharynx spleen testis retina eye ear nose spine knee hip
    hand foot arm leg newborn elderly pregnancy childhood adulthood
    """
)


def is_entity_changed(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether a word next to an entity, absent from the statement, makes it another entity."""
    known = set(statement)
    for at, token in enumerate(text):
        if token in SLOTS and any(word not in known for word in _list_qualifiers(text, at)):
            return True
    return False


def _list_qualifiers(text: Sequence[str], at: int) -> Iterator[str]:
    """Yield the words around one mention that change its meaning."""
    before, after = text[at - 1] if at else "", text[at + 1] if at + 1 < len(text) else ""
    if before in _NARROWING or before == "family":
        yield before
    if after in _TYPE_CHANGING or after.isdigit() or after in ("i", "ii", "iii", "iv"):
        yield after
    start = at - 1
    while start >= 0 and text[start] in _ATTACHING:
        start -= 1
    if (
        0 <= start < at - 1
        and text[start] in _TYPE_CHANGING
        and text[start] not in ("type", "class", "precursor", "stage")
    ):
        yield text[start]
    if start >= 1 and text[start] == "history" and text[start - 1] == "family":
        yield "family"
    if after in ("of", "in"):
        yield from (word for word in text[at + 2 : at + 4] if word in _ORGANS)
