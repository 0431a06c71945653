"""Questions and statements from a clause with a gap: the gap asked, or filled with an option, or negated.

A noun phrase stands in the gap: "Silicosis is the most likely diagnosis." So does an instruction, as an
infinitive: "To administer oxygen is the next step in management." What is neither follows a colon: "The
following is true about these episodes: They occur only during sleep."
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from pretexeval.gate.lexicon import join_parts, list_words
from tasks.questions.clauses import Clause
from tasks.questions.option_forms import (
    Form,
    find_forms,
    is_instruction,
    is_plural,
    make_plural,
    make_singular,
    split_head,
)

# Nouns of actions: an instruction can be equated with them.
_ACTIONS = re.compile(
    r"\b(?:steps?|management|treatment|therapy|intervention|action|course|approach|recommendation|response|option|"
    r"choice|pharmacotherapy|measure|way|method|regimen|advice|plan)\b"
)
_DEFINITE = re.compile(r"^(?:the|his|her|its|their|(?:this|that|the) \w+['’]s)\s", re.IGNORECASE)
# Nouns whose options need not be noun phrases, or do not fit where the noun stands.
_COLON_NOUNS = re.compile(
    r"\b(?:statements?|changes|characteristics|features|(?<!adverse )(?<!side )effects|functions|reasons|"
    r"properties|manner|modes?|mechanisms?|classes|sets?|types?|kinds?|parts|aspects|actions|ways|reactions)\b"
)
# What can be said of one thing as well as of several.
_PREDICATIVE = re.compile(r"(?:most|likely|true|also|consistent|\w+ed)\b")
_ASKS_FOR_SENTENCE = re.compile(
    r"\b(?:statements?|response|true|correct|accurate|interpretation|mechanisms|reply)\b"
)
_ALWAYS_AFTER_COLON = ("statement", "change", "set")
# Names of structures: in the middle of a sentence they need an article.
STRUCTURES = list_words(
    """
    arteriole artery cortex duct fasciculus foramen gland hypothalamus ligament lobe membrane muscle nerve
    nucleus pouch receptor reticulum sphincter tendon thalamus vein
    """
)
# First words of options that are no names: they lose their capital within a sentence.
COMMON_WORDS = list_words(
    """
    A Abscess Absent Acetaminophen Acid Acute Adverse Ages Air Airway Alcohol Ammonia An Analysis Androgen
    Anion Antacids Anterograde Antibodies Antibody Antigen-antibody Anxiety Appetite Area Areas Asthma
    Ataxia Atelectasis Autoantibodies Autoimmune Bacteria Barium Bed Benign Benzodiazepines Bile Bite
    Bladder Blockade Blood Bloody Body Bone Brain Breast Brief Broad Bronchospasm Brown Calcium Carbon
    Cardiac Carotid Cataracts Celiac Cell Cells Cervix Chest Chief Child Chromosome Cleft Close Clot
    Cluster Clusters Coarse Cocci Collagen Common Complete Condoms Contrast Copper Corticosteroids Crown
    Crypt Decrease Deep Defect Delirium Dementia Dense Dermis Dextrose Diffuse Direct Dog Double
    Double-contrast Drug Dry Dual Duplex Early Easy Effect Efflux Elbow Electron Enzyme Eosinophilia
    Eosinophils Episodes Erythema Erythrocyte Estrogen Ethyl Excess Exchange Eye Fat Fatty Female Fever
    Fish Fistula Flat Flexion Flow Fluid Food Foot Forearm Foreign Free Freshwater Fungi Gallbladder Gap
    Gas Germ Glucagon Glucocorticoids Glucose Gluten-free Glycogen Goblet Gout Granulomas Ground Group Gum
    Hair Head Headache Heart Heat Hemophilia Hemoptysis Hemorrhoids High Human Hungry Hydrogen Hydroxyurea
    Hypotonia Immune Incomplete Increase Influenza Influx Insect Interferon Iron Islet Isotype Jaundice
    Jaw Joint Kidney Known Lack Lactulose Large Larynx Laser Late Lead Left Lens Leukocyte Leukotriene
    Lifestyle Lipid Lithium Liver Long Loop Loss Loud Low Lung Lysis Macule Magnesium Malaria Male
    Marijuana Mass Mast Matrix Measles Meconium Median Microtubule Mild Mismatch Mitochondria Mood Mouth
    Mucus Muddy Multiple Multivitamins Muscle Needle Needlestick Nerve Nests Neutrophil Night No Nontender
    Notochord Nystagmus Occult Open Ovaries Palsy Pancreas Papilledema Past Patients Penile Photophobia
    Pink Plague Plasma Platelet Pneumonia Pneumothorax Point Polysaccharides Postpartum Potassium Presence
    Profound Proper Proton Radiograph Radon Random Rapid Ratio Recall Red Rest Retrograde Reverse Right
    Rubella Schizophrenia Scurvy Seizures Selenium Sepsis Serum Severe Sex Shellfish Short Shoulder Sick
    Sickle Silver Silvery Simple Single Skin Sleep Slit Slow Small Smooth Smudge Sodium Spider Sputum
    Starry Steeple Stem Stool Straight Streptococci Stress Strict Strong Struma Subacute Sudden Support
    Surface Swab Sweat Syrup Tachycardia Teeth Tetanus The Theca Thick Third Three Throat Thrombocytopenia
    Thrombus Thumb Thymus Tick Tissue Tongue Trace Trachea Transmembrane Transverse Trauma Travel
    Tricuspid Triglycerides Trisomy Tumor Type Ultrasound Upper Urge Urinalysis Urine Use Vagina Virus
    Vulva Warm Weight White Whole Wrist X-rays Yeast Yellow Yolk Zinc
    """
)
# Names of persons and genera that end like a common word.
NAMES = list_words(
    """
    Crohn Cushing Dermacentor Ebstein Epstein Ewing Goodpasture Hirschsprung Hodgkin Horner Kearns Lynch
    Meckel Schistosoma Turner
    """
)
# Endings of common nouns, adjectives and drugs: a word with such an ending is no name.
COMMON_ENDINGS = tuple(
    list_words(
        """
        able age iasis ly omes al ance ancy ant ar ary ase ate cells cept cysts ed emia ence ency ent esis
        fen ful gery gia gram graphy ible ic ics ide ime in ine ing ions ism ities itis ity ive less logy
        mab ness nib oid ol ole oma one opsy or ory oscopy osis ous pathy plasia pril rapy rel rrhea sion
        stones tes tion tomy trophy ure uria vir
        """
    )
)


def ask(clause: Clause, is_negated: bool) -> str:
    """Return the clause as a question with "which of the following" in its gap, or as its negation."""
    gap = f"which of the following {_name_options(clause.noun)}".strip()
    predicate = clause.predicate.render(is_negated)
    if clause.has_gap_as_subject:
        words = join_parts(clause.lead, clause.before, gap, predicate)
    else:
        words = join_parts(clause.lead, clause.before, predicate, gap, clause.tail)
    return f"{_capitalise(words)}?"


def find_option_forms(clause: Clause, options: Sequence[str]) -> list[Form]:
    """Return the form of each option, given what the clause asks for."""
    words = f"{clause.noun} {clause.predicate.complement}"
    return find_forms(options, are_sentences_likely=bool(_ASKS_FOR_SENTENCE.search(words)))


def state(clause: Clause, option: str, form: Form, is_negated: bool) -> str:
    """Return the statement that an option of this form is an answer to the clause, or that it is none.

    Statement and negation are contradictories: they differ in one "not" at the finite verb.
    """
    option = option.strip().rstrip(".")
    if not clause.has_gap_as_subject:
        words = _state_in_situ(clause, option, form, is_negated)
    elif clause.before:
        words = _state_within_subject(clause, option, form, is_negated)
    else:
        words = _state_of_subject(clause, option, form, is_negated)
    words = _capitalise(words).replace('"', "'")
    return words if words.endswith((".", ".'", ".”", "?'", "?”")) else f"{words}."


def _state_of_subject(clause: Clause, option: str, form: Form, is_negated: bool) -> str:
    """Fill the gap of "which of the following is …"."""
    predicate, complement = clause.predicate, clause.predicate.complement
    if clause.noun.startswith(_ALWAYS_AFTER_COLON):
        return _after_colon(clause, option, is_negated)
    if _is_definite(complement):
        return _equate(clause, option, form, is_negated)
    is_quantity = option[0].isdigit() and " of " in clause.noun
    if form is Form.INSTRUCTION or not form.is_noun or is_quantity:
        return _after_colon(clause, option, is_negated)
    is_singular = form is Form.SINGULAR
    if predicate.agrees and not is_singular and complement.startswith(("a ", "an ")):
        return _after_colon(clause, option, is_negated)
    if predicate.is_plural and is_singular and complement and not _PREDICATIVE.match(complement):
        return _after_colon(clause, option, is_negated)
    agreeing = predicate.with_number(not is_singular)
    option = _place_within(option) if clause.lead else _add_article(option)
    return join_parts(clause.lead, option, agreeing.render(is_negated))


def _equate(clause: Clause, option: str, form: Form, is_negated: bool) -> str:
    """Return the statement that the option is the thing that the clause describes with "the"."""
    predicate, complement = clause.predicate, clause.predicate.complement
    if form is Form.SINGULAR and not predicate.is_plural and not option[0].isdigit():
        option = _place_within(option) if clause.lead else _add_article(option)
        return join_parts(clause.lead, option, predicate.render(is_negated))
    if form is Form.INSTRUCTION and _ACTIONS.search(complement) and not _has_second_instruction(option):
        # "The next step is not to stop" could mean that going on is the next step.
        return join_parts(clause.lead, f"to {option[0].lower()}{option[1:]}", predicate.render(is_negated))
    is_placeable = form.is_noun and not (predicate.is_plural and form is Form.SINGULAR)
    if not is_placeable or "," in complement:
        return _after_colon(clause, option, is_negated)
    be = predicate.rest.removesuffix(complement)
    turned = replace(predicate, adverbs="", rest=f"{be}{_place_within(option)}")
    return join_parts(clause.lead, predicate.adverbs, complement, turned.render(is_negated))


def _after_colon(clause: Clause, option: str, is_negated: bool) -> str:
    """Return "the following statement is true: …", which holds an option of any form."""
    is_joined = bool(re.search(r"\s(?:and|or)\s", clause.noun))
    noun = clause.noun if is_joined else make_singular(clause.noun)
    predicate = clause.predicate.with_number(is_joined) if noun else clause.predicate
    said = join_parts(clause.lead, clause.before, "the following", noun, predicate.render(is_negated))
    return f"{said}: {option}"


def _state_within_subject(clause: Clause, option: str, form: Form, is_negated: bool) -> str:
    """Fill the gap of "a defect in which of the following is …"."""
    predicate = clause.predicate.render(is_negated)
    if not form.is_noun or _COLON_NOUNS.search(clause.noun):
        noun = make_singular(clause.noun)
        return f"{join_parts(clause.lead, clause.before, 'the following', noun, predicate)}: {option}"
    return join_parts(clause.lead, clause.before, _name_number(clause.noun, _place_within(option)), predicate)


def _state_in_situ(clause: Clause, option: str, form: Form, is_negated: bool) -> str:
    """Fill the gap of "further evaluation is likely to show which of the following"."""
    start = join_parts(clause.lead, clause.before, clause.predicate.render(is_negated))
    if not form.is_noun or _COLON_NOUNS.search(clause.noun):
        return f"{join_parts(start, 'the following', make_singular(clause.noun), clause.tail)}: {option}"
    return join_parts(start, _name_number(clause.noun, _place_within(option)), clause.tail)


def _name_number(noun: str, option: str) -> str:
    """Return "chromosome 5" for the option 5, and other options as they are."""
    return f"{make_singular(noun)} {option}" if noun and re.fullmatch(r"\d+|[A-Z]|[IVX]+", option) else option


def _name_options(noun: str) -> str:
    """Return the noun of a gap in the plural. A singular ("other sign") is left out, except before "of"."""
    word, rest = split_head(noun)
    return make_plural(noun) if is_plural(word) or rest.startswith(" of ") else ""


def _is_definite(complement: str) -> bool:
    return bool(_DEFINITE.match(complement)) and not complement.startswith("the same")


def _has_second_instruction(option: str) -> bool:
    """Return whether an instruction goes on with another after a comma: it needs a colon before it."""
    return any(
        is_instruction(part.casefold().split())
        for part in re.split(r",\s+(?!and\b)", option)[1:]
        if part.split()
    )


def _place_within(option: str) -> str:
    """Return an option as it stands in the middle of a sentence: common words without a capital."""
    if re.match(r"\d+(?:st|nd|rd|th)\b", option):
        return f"the {option}"
    first = option.split()[0].strip(",:")
    is_plain = first[1:].islower() and first.replace("-", "").isalpha() and first.split("-")[0] not in NAMES
    is_common = first.split("-")[0] in COMMON_WORDS or first.startswith("Anti-")
    is_common = is_common or (is_plain and first.lower().endswith(COMMON_ENDINGS))
    return _add_article(f"{option[0].lower()}{option[1:]}" if is_common else option)


def _add_article(option: str) -> str:
    """Return the name of a single structure with "the" before it."""
    head = re.split(r"\s(?:of|in|on|at|to|from|with)\s", re.sub(r"\s*\([^)]*\)", "", option), maxsplit=1)[0]
    words = head.split()
    if words[-1].casefold() not in STRUCTURES or words[0].casefold() in {"a", "an", "the"} or "the" in words:
        return option
    first = words[0]
    is_common = first[1:].islower() and first.isalpha()
    return f"the {option[0].lower()}{option[1:]}" if is_common else f"the {option}"


def _capitalise(words: str) -> str:
    """Return the words with a capital at the beginning, unless the first one is a symbol such as pH."""
    first = words.split()[0]
    is_word = first[0].islower() and first.lower() == first and first.strip(",'-").replace("-", "").isalpha()
    return f"{words[0].upper()}{words[1:]}" if is_word and first[0].isascii() else words
