"""Tag single words by their function in a statement: the vocabulary that the checks share.

Each tag has a pattern that a folded word must match completely. The words are general English and
general medical vocabulary; they are not specific to any relation.
"""

import re
from functools import lru_cache

from gate.words import CACHE_SIZE, list_words

_PATTERNS: dict[str, str] = {
    # Negation: each of these words reverses the sentence.
    "neg": r"""
        not|never|no|none|nobody|nothing|nowhere|neither|nor|without|lack(?:s|ed|ing)?|absent|absence|non
        |nil|zero|void|fail(?:s|ed|ing|ure)?|unable|inability|incapable|incapacity|impossible
        |impossibility|impossibly|exclu(?:d\w+|sion)|preclud\w+|rule_out|false(?:ly|hood)?|untrue|untruth
        |incorrect(?:ly)?|wrong(?:ly)?|erroneous(?:ly)?|inaccurate(?:ly)?|mistaken(?:ly)?|mistake|invalid
        |den(?:y|ies|ied|ying|ial)|refut\w+|contradict\w*|disprov\w+|negat(?:e|es|ed|ing|ion)
        |reject(?:s|ed|ing|ion)?|dismiss\w*|devoid|free_of|far_from|ineffective|ineffectual|inefficacious
        |useless|futile|powerless|unhelpful|independent(?:ly)?|irrespective|regardless|spar(?:es|ed|ing)
        |omit\w*|except\w*|other_than|contraindicated|nonexistent|myth|fallacy|misconception|error
        |refrain\w*|ceas(?:e|es|ed|ing)|refus\w+|deficient|missing|avoid_use|too_to|unless|immune
        |insensitive|refractory|exempt\w*|disagree\w*|opposite|dissociat\w+|disconnect\w*|inconsistent
        |incompatible|irrelevant|inappropriate|insufficient|inadequate|inapplicable|unsuitable|unfit
        |counterfactual|fictitious|minus|resist\w*|unrespons\w+|disallow\w*|forbid\w*|prohibit\w*
    """,
    # Negation of frequency or likelihood, and doubt: these words reverse the sentence without a full denial.
    "rare": r"""
        rare|rarely|rarity|seldom|hardly|barely|scarcely|infrequent(?:ly)?|uncommon(?:ly)?|unusual(?:ly)?
        |little|few|atypical(?:ly)?
    """,
    "unlike": r"unlikely|improbabl[ey]|implausibl[ey]|unlikelihood",
    "doubt": r"""
        doubt(?:ful|s|ed)?|questionabl[ey]|questioned|unclear|uncertain|unknown|unproven|unproved
        |unconfirmed|unsupported|disputed|debat\w+|controversial|unsubstantiated|unfounded|speculat\w+
        |inconclusive|undetermined|hypothe\w+
    """,
    # Modality.
    "may": r"""
        may|might|could|possibly|possible|possibility|perhaps|maybe|potential(?:ly)?|conceivabl[ey]
        |plausibl[ey]|sometimes|occasional(?:ly)?|some
    """,
    "can": r"""
        can|able|impossible|impossibility|unable|inability|incapable|incapacity|ability|capable|capability
        |capacity|permits?|allows?|enables?
    """,
    "weak": r"""
        risk|risks|chance|chances|likelihood|probability|prone|predispos\w+|susceptib\w+|propensity
        |tendency|associat\w+|link\w*|suggest\w*|among|belong\w*|includ\w+|contain\w*|help|helps|aid|aids
        |support|supports|consider\w*|list|linkage|respond\w*|offers?|hint\w*|uses?|indications?
    """,
    "often": r"""
        common|commonly|often|frequent(?:ly)?|usual|usually|typical|typically|generally|regular|regularly
        |mostly|most|majority|predominant(?:ly)?|routine|routinely|habitual(?:ly)?|normally|widespread
        |widely|mainly|largely|chiefly|primarily|consistently|recurrent(?:ly)?|prevalent|popular
    """,
    "likely": r"likely|probabl[ey]|presumabl[ey]",
    "must": r"""
        must|always|necessary|necessarily|inevitabl[ey]|invariabl[ey]|certainly|certain_that|definite
        |definitely|definitively|undoubted(?:ly)?|doubtless|unquestionabl[ey]|surely|guarantee\w*|ensur\w+
        |requir\w+|require_of|mandatory|obligatory|essential|indispensable|all|every|everyone|everybody
        |entirely|universal(?:ly)?|absolutely|have_to|unfailingly|automatically|necessit\w+|imperative
        |undeniabl[ey]|without_exception|completely|need_to|constantly|compulsory|need|needs|needed
        |perforce
    """,
    "only": r"only|exclusive|exclusively|sole|solely|alone|merely|purely|uniquely",
    "should": r"should|ought|recommend\w*|advis\w+",
    "imply": r"""
        impl(?:y|ies|ied|ying)|mean|means|meant|guarantee\w*|prove|proves|proven|entail\w*|ensure|ensures
        |confirm\w*|establishes|necessitat\w+|warrant\w*|indicate|indicates|signif(?:y|ies)|demonstrates
        |follow_that|certain|conclusive|suffic\w+
    """,
    "evidence": r"evidence|proof|prove[dn]|data",
    "no_longer": r"no_longer|not_yet",
    # Persons who have a condition, relative pronouns, and words that open an if-clause.
    "person": r"""
        patients?|person|persons|people|individuals?|somebody|someone|anyone|anybody|those|subjects?
        |cases?|everyone|man|woman|men|women|child|children|adults?|sufferers?|he|she|they|human|humans
    """,
    "who": r"who|whose|whom|that|which",
    "if": r"if|when|whenever|once|given|where|unless|provided|assuming|suppose|supposing",
    # Comparatives.
    "up": r"""
        increas\w+|elevat\w+|higher|greater|more|rais\w+|enhanc\w+|heighten\w*|boost\w*|upregulat\w+
        |augment\w*|stimulat\w+|activat\w+|promot\w+|accelerat\w+|larger|intensif\w+|amplif(?:y|ies|ied)
        |strengthen\w*
    """,
    "down": r"""
        decreas\w+|reduc\w+|lower|lowers|lowered|lowering|less|fewer|diminish\w*|declin\w+|suppress\w*
        |inhibit\w*|downregulat\w+|attenuat\w+|lessen\w*|minimi[sz]\w+|mitigat\w+|dampen\w*|weaken\w*
        |smaller|slows?|deplet\w+|curb\w*|hinder\w*|imped\w+
    """,
    "risk": r"""
        risk|risks|likelihood|probability|chance|chances|propensity|susceptib\w+|odds|likely|prone
        |incidence|predispos\w+
    """,
    "normal": r"normal|healthy|ordinary|unaffected|intact|unaltered",
    "abnormal": r"""
        abnormal(?:ly|it\w+)?|aberrant|aberration|diseased|altered|pathological(?:ly)?|pathologic
        |malformed|anomal\w+|impaired|dysfunction\w*|defective|lesions?|alterations?|disturb\w+|affected
        |mutat\w+
    """,
    "good": r"""
        improv\w+|beneficial|benefits?|harmless|safe|safely|helpful|favou?rable|protective|ameliorat\w+
    """,
    "bad": r"""
        worsen\w*|aggravat\w+|exacerbat\w+|harm|harms|harmful|unsafe|dangerous|detrimental|deteriorat\w+
        |unfavou?rable|compound\w*
    """,
}
_COMPILED = {tag: re.compile(pattern, re.VERBOSE) for tag, pattern in _PATTERNS.items()}

# A negative prefix before a word that also exists without the prefix.
_PREFIXED = re.compile(
    r"un(?!der|i[cflnqtv]|til|to\b|usual|common|cover|veil|ravel|fold|known|clear|certain|dergo|likely|doubt|question|fail"
    r"|proven|proved|confirm|found|substan|deni|necess|support|determ)\w{3,}(?:ed|able|ably|ible|ing|ful|al|ive|ic|ous|ent|ant|ory|own|een|ound|aware)"
    r"|non(?!e)\w{4,}"
    r"|(?:in|im|ir|il|dis|mis)(?:able|accurate|active|adequate|advisable|applicable|appropriate|attentive|audible|complete|correct"
    r"|curable|dependent|detectable|direct|discernible|effective|effectual|efficacious|essential|evident|existent|frequent|operative|significant"
    r"|sensitive|separable|stable|sufficient|tolerant|valid|variable|visible|material|mobile|movable|passable|permissible|plausible|possible"
    r"|potent|practical|probable|proper|regular|relevant|replaceable|resolute|responsive|reversible|legitimate|logical|associated|connected"
    r"|joined|similar|proven|proved|counted|qualified|qualifies|favored|attributed|attributable)(?:ly)?"
)
# These words only look like prefixed negations, or get their tag from the patterns above.
_UNPREFIXED = list_words(
    """
    invariable invariably independent independently direct indirect inseparable disease disorder
    insensitive unfailing
    """
)
_ENDLESS = re.compile(r"(?!un|never|none|regard|doubt|end|bless|need)\w{3,}less(?:ly|ness)?")


@lru_cache(CACHE_SIZE)
def tag_word(word: str) -> frozenset[str]:
    """Return the tags of a folded word; most words have none."""
    tags = {tag for tag, pattern in _COMPILED.items() if pattern.fullmatch(word)}
    if not tags & {"neg", "rare", "unlike", "doubt", "must"} and _is_negated_form(word):
        tags.add("neg")
    return frozenset(tags)


def _is_negated_form(word: str) -> bool:
    is_prefixed = _PREFIXED.fullmatch(word) is not None and word not in _UNPREFIXED
    return is_prefixed or _ENDLESS.fullmatch(word) is not None
