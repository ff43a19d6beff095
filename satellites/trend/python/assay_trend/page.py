"""The page of an experiment over the commits of its project."""

from pathlib import Path

from assay.store import Store, UnreadableError
from assay_trend.history import FEWEST_CAMPAIGNS, commit_of

TEMPLATES = Path(__file__).parent / "templates"


def history_page(store: Store, name: str) -> str:
    """Return the page of an experiment; empty where too few of its campaigns know their commit."""
    campaigns = [campaign for campaign in store.campaigns() if campaign.experiment == name]
    if sum(of.ended > 0 and commit_of(of) is not None for of in campaigns) < FEWEST_CAMPAIGNS:
        return ""
    from assay.report import charts  # noqa: PLC0415 - slow to load
    from assay.report.render import render  # noqa: PLC0415
    from assay_trend import words  # noqa: PLC0415
    from assay_trend.figures import figures  # noqa: PLC0415

    try:
        history, experiment = words.gathered_history(store, name)
    except UnreadableError:
        return ""
    if history.campaigns < FEWEST_CAMPAIGNS:
        return ""
    drawn = list(figures(history, experiment))
    calibrations = {of.metric for of in history.calibrations}
    of_host = [figure for figure in drawn if figure.title in calibrations]
    return render(
        "history.html",
        TEMPLATES,
        root="",
        history=history,
        question=experiment.question,
        headline=words.headline(history, experiment),
        sentences=[*words.sentences(history, experiment), *words.unplaced(history)],
        visible=words.visible(history),
        left_out=words.left_out(history),
        metrics=[figure for figure in drawn if figure not in of_host],
        calibrations=of_host,
        **charts.page_content(drawn),
    )
