"""Write the comparison of two models as JUnit XML, which CI services show as tests.

The first test case is the comparison over all relations, and it alone can fail. A case per relation follows,
with its figures and a verdict that is corrected for the number of relations in `system-out`.
"""

import re
import xml.etree.ElementTree as ET

from primitives.untrusted_text import escape_controls
from report.difference_texts import (
    list_notes,
    note_relations,
    render_difference,
    write_points,
    write_regression,
    write_verdict,
)
from report.model_difference import ModelDifference
from report.relation_verdicts import judge_relations


def render_junit(found: ModelDifference) -> str:
    """Return one test suite with a test case for all relations and one for each of them."""
    name = _clean(f"{found.candidate.name} against {found.baseline.name}")
    counts = {
        "tests": str(1 + len(found.relations)),
        "failures": str(int(found.is_regression)),
        "errors": "0",
        "skipped": "0",
    }
    root = ET.Element("testsuites", {"name": "pretexeval compare", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts, "time": "0"})
    _add_properties(suite, found)
    case = _add_case(suite, found, f"{found.measure}, all relations")
    if found.is_regression:
        message = _clean(f"{write_regression(found)} {write_verdict(found)}")
        failure = ET.SubElement(case, "failure", {"message": message, "type": "regression"})
        failure.text = _clean("\n".join([write_verdict(found), *list_notes(found)]))
    ET.SubElement(case, "system-out").text = _clean(render_difference(found))
    for row, (verdict, _) in zip(found.relations, judge_relations(found.relations), strict=True):
        of_relation = _add_case(suite, found, f"{found.measure}, {row['relation']}")
        text = f"{verdict}: {write_points(row)}, {row['n_pairs']} pairs. {note_relations(found)}"
        ET.SubElement(of_relation, "system-out").text = _clean(text)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False)


def _add_properties(suite: ET.Element, found: ModelDifference) -> None:
    properties = ET.SubElement(suite, "properties")
    for name, value in {
        "edition_id": found.edition_id,
        "first": found.baseline.model_id,
        "second": found.candidate.model_id,
        "method": found.setting.method,
        "scoring_policy": found.setting.scoring_policy,
        "measure": found.measure,
        "margin": found.margin,
        "n_pairs": found.whole["n_pairs"],
        "difference": found.whole["difference"],
        "difference_ci_low": found.whole["difference_ci_low"],
        "difference_ci_high": found.whole["difference_ci_high"],
        "detectable_difference": found.whole["detectable_difference"],
    }.items():
        ET.SubElement(properties, "property", {"name": name, "value": _clean(str(value))})


def _add_case(suite: ET.Element, found: ModelDifference, name: str) -> ET.Element:
    # A dot would be read as the border between a package and a class.
    group = f"pretexeval.{found.edition_id.replace('.', '_')}"
    return ET.SubElement(suite, "testcase", {"classname": _clean(group), "name": _clean(name), "time": "0"})


def _clean(text: str) -> str:
    """Return the text without what XML 1.0 cannot hold: control characters and U+FFFE, U+FFFF."""
    return re.sub("[\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", escape_controls(text))
