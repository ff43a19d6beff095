import re
import sys
import tomllib
from pathlib import Path

import pytest

from assay import extras
from assay.errors import AssayError

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
OPTIONAL = {
    "vl_convert": "vl-convert-python",
    "datasette": "datasette",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
}


@pytest.mark.parametrize("module", OPTIONAL)
def test_what_is_there_is_used(module: str) -> None:
    assert extras.available(module)
    extras.require(module, "this")


@pytest.mark.parametrize(("module", "package"), OPTIONAL.items())
def test_what_is_not_there_is_named_with_the_command_that_installs_it(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert not extras.available(module)
    [extra] = re.findall(r"^pip install 'assay\[(\w+)\]'$", extras.remedy(module))
    assert package in PROJECT["optional-dependencies"][extra]
    assert package not in PROJECT["dependencies"]
    with pytest.raises(AssayError, match=f"^this needs {package}, .*{re.escape(extras.remedy(module))}$"):
        extras.require(module, "this")
