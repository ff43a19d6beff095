"""From what a subject's registration says to the finding, through the programs."""

import json
from pathlib import Path

from conftest import Assay

EXPERIMENT = """
name = "trees"
question = "Which is faster?"
factors.subject = ["ticket_bst", "{other}"]
[trial]
threads = 1
key_range = 100
mix = {{ insert = 10, erase = 10, find = 80 }}
duration_ms = 5
"""


def test_a_tree_that_frees_nothing_is_found_out_and_one_that_frees_alike_is_not(
    assay: Assay, tmp_path: Path
) -> None:
    listed = json.loads(assay("store", "list", "subjects", "--json").stdout)["subjects"]
    ways = {subject["subject"]: subject["reclaims"] for subject in listed}
    assert (ways["ticket_bst"], ways["ticket_bst_leaking"]) == ("epochs", "never")
    for other, severities in (("ticket_bst_leaking", ["warning"]), ("natarajan_mittal_bst", [])):
        (tmp_path / "trees.toml").write_text(EXPERIMENT.format(other=other), encoding="utf-8")
        audited = json.loads(assay("plan", "trees.toml", "--audit", "--json").stdout)["experiment_findings"]
        found = [finding for finding in audited if finding["rule"] == "reclamation-differs"]
        assert [finding["severity"] for finding in found] == severities
