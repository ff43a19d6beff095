"""The lab: random number engines, energy, the power governor, transactions."""
