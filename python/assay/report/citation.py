"""How to cite a campaign: a sentence, and an entry for BibTeX."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay import __version__
from assay.store.types import CampaignSummary
from assay.words import counted, listed_briefly, one_line

_MEANT_BY_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


@dataclass(frozen=True)
class Citation:
    """A campaign in words that find it again: when, where and from which seed it ran, and at which commit."""

    text: str
    bibtex: str


def citation(campaign: CampaignSummary, hosts: Sequence[str] = ()) -> Citation:
    """Return how to cite a campaign; `hosts` are the names of those that ran its trials, where known."""
    begun, host = campaign.started_at, campaign.host
    title = f"{campaign.experiment}: {one_line(campaign.question)}"
    tool = campaign.imported.tool if campaign.imported else f"Assay {__version__}"
    parts = [
        f"{counted(campaign.ended, 'trial')} with {tool}, begun {begun:%Y-%m-%d %H:%M:%S} UTC",
        f"on {measured_on(campaign, hosts)}",
        f"seed {campaign.seed}",
    ]
    if commit := host.get("commit"):
        changes = f" with {counted(commit['changed'], 'changed file')}" if commit["changed"] else ""
        parts.append(f"commit {commit['hash']}{changes}")
    about = ", ".join(parts)
    fields = {
        "title": f"{{{_for_latex(title)}}}",
        "howpublished": "Measurements",
        "year": str(begun.year),
        "month": f"{begun:%b}".lower(),
        "note": _for_latex(about),
    }
    lines = [f"  {name} = {value if name == 'month' else f'{{{value}}}'}," for name, value in fields.items()]
    key = f"{campaign.experiment}-{begun:%Y-%m-%d-%H%M%S}"
    return Citation(f"{title} {about[0].upper()}{about[1:]}.", "\n".join([f"@misc{{{key},", *lines, "}"]))


def measured_on(campaign: CampaignSummary, hosts: Sequence[str]) -> str:
    """Return where a campaign ran, in words: what is known of its host is that of the machine that led it."""
    host = campaign.host
    if len(hosts) > 1:
        return f"{len(hosts)} hosts ({listed_briefly(hosts)})"
    if hosts and hosts[0] != host.get("name"):
        return hosts[0]
    name, processors = host.get("name", "an unknown host"), host.get("processors", "?")
    return f"{name} ({processors} processors, kernel {host.get('kernel', '?')})"


def _for_latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda match: _MEANT_BY_LATEX[match[0]], text)
