#!/bin/sh
# Answers each trial at once, and says that `quick` is twice as fast as any other subject.
read -r request
case $request in *'"subject": "quick"'*) rate=2e6;; *) rate=1e6;; esac
echo '{"protocol": 1, "status": "valid", "metrics": {"throughput": '$rate'}}'
