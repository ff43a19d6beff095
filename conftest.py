"""What holds for every test."""

import signal

from hypothesis import settings

# An example may take as long as the machine needs: no test is about time.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")

# Tests send themselves and others this signal, which is ignored where all runs under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
