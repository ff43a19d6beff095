"""The power governor of a real machine: training, running, and what it says of itself."""
