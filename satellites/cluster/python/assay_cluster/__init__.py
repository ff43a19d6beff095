"""Campaigns on several hosts: how their workers are started, led and what they do."""
