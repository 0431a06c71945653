"""Words by which options and closing sentences are taken apart.

The words are general English and the language of clinical instructions; no word belongs to a single question.
"""

from pretexeval.gate.lexicon import list_words

# Finite auxiliaries: an option with one of them is a sentence.
FINITE = list_words(
    """
    am are aren't can can't cannot could couldn't did didn't do does doesn't don't had has hasn't have
    haven't is isn't may might must shall should shouldn't was wasn't were weren't will won't would
    wouldn't
    """
)
# First words of instructions ("Administer oxygen").
INSTRUCTIONS = list_words(
    """
    abstain accept add adjust administer admit advise agree allow apply arrange ask assess assure attempt
    avoid begin bypass call change check conduct confront consider consult contact continue cool counsel
    decline decrease defer deliver determine discharge disclose discontinue discuss dispose disregard draw
    educate elevate encourage ensure evaluate examine exclude explain extubate follow get give hold honor
    identify ignore immobilize immunize increase induce inform initiate inject inquire insert insufflate
    intubate invite involve irrigate keep leave let limit maintain make measure mention monitor move
    notify observe obtain offer open order perform permit persuade place plan postpone prepare prescribe
    prevent proceed protect provide pursue reassess reassure recommend reduce refer refuse remove repair
    repeat replace report request respect respond restart restrict resuscitate return revise rule schedule
    screen seek send set share speak start stop suggest supplement suture switch take taper tell terminate
    test transfer transfuse treat try turn undergo use vaccinate ventilate wait warn wean withdraw
    withhold wrap
    """
)
# Instructions that are nouns too ("change in mood"): they are nouns before AFTER_NOUN.
INSTRUCTIONS_OR_NOUNS = list_words(
    """
    attempt call change decrease discharge draw increase limit monitor offer open order place plan repair
    repeat report request return rule screen start stop supplement switch test transfer use wait
    """
)
AFTER_NOUN = list_words("and at by for from in is of on or to with")
# First words of predicates in the third person ("Blocks reuptake of dopamine").
THIRD_PERSON = list_words(
    """
    activates acts affects alters antagonizes attaches binds blocks causes cleaves competes contains
    converts creates decreases depolarizes destroys disrupts drains elicits encodes enhances enlarges
    forms increases induces inhibits interferes leads lowers makes occurs prevents produces promotes
    reduces regulates releases requires results runs stabilizes stimulates suppresses tends transports
    triggers
    """
)
# First words of sentences.
SENTENCE_STARTS = list_words("he if it she that there these they this we you")
# Verbs in the third person that are no nouns: an option with one of them is a sentence.
SENTENCE_VERBS = list_words(
    """
    activates allows alters becomes binds carries competes contains contributes converts depends encodes
    enhances fails generates improves induces inhibits interferes makes metabolize metabolizes needs
    occurs pays plays poses prevents promotes provides reduces remains requires shows stimulates
    suppresses
    """
)
# Plurals without a plural ending.
PLURALS = list_words(
    """
    bacilli bacteria bodies casts children cocci data diverticula emboli feet foci fungi media men nuclei
    ova people petechiae spirochetes striae teeth thrombi varices vertebrae villi women
    """
)
# Singulars that end like a plural.
SINGULARS = list_words(
    """
    abscess albicans ascites atlas bias biceps caries diabetes facies forceps gas herpes hives lens
    measles meninges mumps mutans pancreas pons rabies rickets scabies series shingles species tabes
    torsades triceps yaws
    """
)
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
    sorted(
        list_words(
            """
            able age iasis ly omes al ance ancy ant ar ary ase ate ation cells cept cillin cin cline cysts
            ectomy ed emia ence ency ent esis fen ful gery gia gram graphy ible ic ics ide ime in
            ine ing ions ism ities itis ity ive less logy mab ment ness nib oid ol ole oma one
            opsy or ory oscopy osis ous pathy plasia pril pyridamole rapy rel rin rrhea sion
            statin stones tes tion tomy trophy ulosis ure uria vir zole
            """
        )
    )
)
