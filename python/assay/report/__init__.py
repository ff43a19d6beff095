"""The report: findings and verdicts of a campaign in the terminal, and a static site of the store.

gathered = gather(store, campaign)                      # once; every renderer shows what it holds
assay.report.terminal.print_report(gathered, Console())
page = assay.report.site.write_page(gathered, store)    # the campaign's pages and the index
index = assay.report.site.write_site(store)             # the pages of every campaign that has changed
"""

from assay.report.gather import Report, gather

__all__ = ["Report", "gather"]
