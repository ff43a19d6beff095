"""What holds for every test."""

import os
import signal

from hypothesis import settings

# NumPy's threads wait busily for each other over arrays as small as those of tests: twice the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# An example may take as long as the machine needs: no test is about time.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")

# Tests send themselves and others this signal, which is ignored where all runs under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
