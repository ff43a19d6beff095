"""A comparison of two revisions as a JUnit file: a test case for each benchmark."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from assay.report.ab import Answer, sentence
from assay.words import printable

_SUITE = "assay ab"


def junit(answer: Answer) -> str:
    """Return the file's text.

    A regression is a failure, a benchmark that does not work an error; one that is undecided, or in one of
    the revisions only, is skipped.
    """
    skipped = [left for left in answer.skipped if left.kind != "failed"]
    regressions = sum(of.is_regression for of in answer.benchmarks)
    undecided = sum(of.is_undecided for of in answer.benchmarks)
    suite = Element(
        "testsuite",
        name=_SUITE,
        tests=str(len(answer.benchmarks) + len(answer.skipped)),
        failures=str(regressions),
        errors=str(len(answer.failed)),
        skipped=str(undecided + len(skipped)),
        time=f"{answer.took_s:.3f}",
    )
    for of in answer.benchmarks:
        case = SubElement(suite, "testcase", classname=_SUITE, name=printable(of.name))
        base, head = of.shown
        said = f"{of.result}: {of.change}{f' ({of.interval})' if of.interval else ''}, from {base} to {head}"
        if of.is_regression:
            SubElement(case, "failure", type="regression", message=said)
        elif of.is_undecided:
            SubElement(case, "skipped", message=printable(f"{said}; {of.why}"))
        else:
            SubElement(case, "system-out").text = printable("; ".join(filter(None, [said, of.why])))
    for left in answer.skipped:
        case = SubElement(suite, "testcase", classname=_SUITE, name=printable(left.name))
        if left.kind == "failed":
            SubElement(case, "error", type="failed", message=printable(left.why))
        else:
            SubElement(case, "skipped", message=f"{left.kind}, so not compared")
    SubElement(suite, "system-out").text = printable(sentence(answer))
    indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suite, encoding="unicode")}\n'
