import json
from pathlib import Path
from typing import Any

import pytest

from assay import protocol

RESULT: dict[str, Any] = {"protocol": 1, "status": "valid", "metrics": {"throughput": 2.5}}


def test_a_message_that_follows_its_schema_comes_back() -> None:
    assert protocol.parse("trial-result", json.dumps(RESULT)) == RESULT


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Expecting value"),
        ("[]", "not of type 'object'"),
        ('{"protocol": 1, "status": "valid"', "Expecting"),
        (json.dumps(RESULT).replace("2.5", "NaN"), "NaN is not a JSON number"),
        (json.dumps(RESULT).replace("2.5", "1e999"), "larger than a double"),
        (json.dumps(RESULT | {"details": {}}).replace("{}", '{"a":' * 200 + "1" + "}" * 200), "nest"),
        (json.dumps(RESULT | {"status": "fine"}), r"\$.status"),
        (json.dumps(RESULT | {"status": "invalid"}), "'reason' is a required property"),
        (json.dumps(RESULT | {"metrics": {"Bad name": 1}}), "Bad name"),
        (json.dumps(RESULT | {"metrics": {"ends_in_a_line\n": 1}}), "does not match"),
        (json.dumps(RESULT | {"metrics": {"throughput": "2.5"}}), r"\$.metrics.throughput"),
        (json.dumps(RESULT | {"surprise": 1}), "surprise"),
    ],
)
def test_anything_else_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        protocol.parse("trial-result", text)


@pytest.mark.parametrize(
    "message", ["trial-request", "trial-result", "calibration-request", "calibration-result"]
)
def test_the_schemas_are_schemas_and_published(message: protocol.Message) -> None:
    validator = protocol.validator(message)
    validator.check_schema(validator.schema)
    published = Path(__file__).parents[3] / "docs" / "reference" / f"{message}.schema.json"
    assert json.loads(published.read_text()) == validator.schema
