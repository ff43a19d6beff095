"""Compares what did not run as one experiment's comparison: conditions, campaigns, or stores."""
