"""What holds for every test."""

from hypothesis import settings

# An example may take as long as the machine needs: no test is about time.
settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
