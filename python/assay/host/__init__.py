"""The settings of this machine: read and judged, changed for a measurement, and restored.

`settings` has a small class for each, `journal` remembers the earlier values, `tune` applies and restores,
and `system` is the machine itself, or a made one in tests.
"""
