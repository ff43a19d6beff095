#!/usr/bin/env python3
"""A subject in another language: anything that reads a request and prints a result can be measured.

It measures Python's own dict under the mix that the request asks for, on one thread.
"""

import json
import random
import sys
import time

KNOWN = [
    "protocol",
    "subject",
    "seed",
    "threads",
    "pinning",
    "key_range",
    "keys",
    "mix",
    "duration_ms",
    "interval_ms",
    "perturbation",  # of stack, heap, threads and processors: it may be ignored
]

request = json.load(sys.stdin)
for setting in request:
    if setting not in KNOWN:  # it would measure something else than what was asked for
        sys.exit(f"error: {setting}: this subject does not know it")
if request["threads"] != 1:
    sys.exit("error: threads: this subject runs on one thread")

draw = random.Random(request["seed"])
kinds = list(request["mix"])
weights = list(request["mix"].values())
key_range = request["key_range"]
entries = {key: key for key in range(1, key_range + 1) if draw.random() < 0.5}
size = len(entries)

operations = 0
begin = now = time.perf_counter_ns()
deadline = begin + request["duration_ms"] * 1_000_000
while now < deadline:
    batch = draw.choices(kinds, weights, k=256)
    for kind in batch:
        key = 1 + int(draw.random() * key_range)
        if kind == "find":
            entries.get(key)
        elif kind == "insert":
            size += key not in entries
            entries.setdefault(key, key)
        else:
            size -= entries.pop(key, None) is not None
    operations += len(batch)
    now = time.perf_counter_ns()

result = {"protocol": 1, "status": "valid", "metrics": {"throughput": operations / (now - begin) * 1e9}}
if size != len(entries) or any(key != value for key, value in entries.items()):
    result |= {"status": "invalid", "reason": f"expected {size} entries, found {len(entries)}"}
json.dump(result, sys.stdout)
