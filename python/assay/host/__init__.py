"""The settings of this machine: read and judged, changed for a measurement, and put back as they were found.

`settings` has a small class for each, `journal` remembers what was there, `tune` applies and restores, and
`system` is the machine itself, or a made one in tests.
"""
