"""The store: every trial of every campaign in one database that only grows, in a file or on a server.

    with Store.open(Path("results/assay.sqlite")) as store:
        campaign = store.begin_campaign(...)          # the plan is kept with it
        for planned in store.pending(campaign):
            store.record(campaign, planned.ordinal, run(planned))
        columns, rows = store.query("select subject, median(throughput) from trials group by 1")

`docs/reference/store.md` lists the tables, views and functions.
"""

from assay.store.names import Server, StoreName, store_name
from assay.store.opening import runner_lock
from assay.store.reading import DamagedError, UnreadableError
from assay.store.store import Store

__all__ = [
    "DamagedError",
    "Server",
    "Store",
    "StoreName",
    "UnreadableError",
    "runner_lock",
    "store_name",
]
