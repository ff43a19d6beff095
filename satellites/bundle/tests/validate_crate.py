"""Validates a crate with roc-validator, whose Python runs this, without a network: `validate_crate.py CRATE`.

What the validator would fetch is in `contexts/`: of RO-Crate's context the terms that bundles use.
"""

import sys
import tempfile
from io import BytesIO
from pathlib import Path

import requests
from requests_cache import CachedSession  # type: ignore[import-not-found]
from rocrate_validator import models, services  # type: ignore[import-not-found]
from urllib3 import HTTPResponse

CONTEXTS = Path(__file__).parent / "contexts"
URL = "https://w3id.org/ro/crate/1.2/context"
CHECKED: dict[str, list[str]] = {
    "ro-crate-1.2": [],
    # The validator's profile stands on RO-Crate 1.1, and refuses a crate of another version for that alone.
    "workflow-run-crate": ["ro-crate-1.1_5.3"],
}
"""Profile -> the checks that are left out."""


def keep(url: str, content: bytes, cache: str) -> None:
    """Put what a server would answer into the validator's cache."""
    raw = HTTPResponse(BytesIO(content), {"Content-Type": "application/ld+json"}, preload_content=False)
    raw.status, raw._request_url = 200, url
    for accepted in ({}, {"Accept": "application/ld+json, application/json"}):
        request = requests.Request("GET", url, headers=accepted).prepare()
        answer = requests.adapters.HTTPAdapter().build_response(request, raw)
        answer._content = content
        CachedSession(cache, backend="sqlite").cache.save_response(answer)


def main(crate: str) -> int:
    """Print what is wrong with a crate, and return how much."""
    with tempfile.TemporaryDirectory() as folder:
        cache = str(Path(folder, "cache"))
        keep(URL, (CONTEXTS / "ro-crate-1.2.jsonld").read_bytes(), cache)
        results = [
            services.validate(
                {
                    "rocrate_uri": crate,
                    "profile_identifier": profile,
                    "requirement_severity": models.Severity.REQUIRED,
                    "skip_checks": skipped,
                    "offline": True,
                    "cache_path": cache,
                }
            )
            for profile, skipped in CHECKED.items()
        ]
    issues = [f"{issue.check.identifier}: {issue.message}" for of in results for issue in of.get_issues()]
    print("\n".join(issues) or f"valid: {', '.join(CHECKED)}")
    return len(issues)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1]), 1))
