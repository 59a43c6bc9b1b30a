"""Compaction: of every key the newest record stays, at the offset it has (Kafka's log cleaner).

selection     which log is to be cleaned next, and how far; runs in the broker
job           what the broker tells a worker, and what it hears back
worker        a process of its own, which does one job after the other
cleaner       one job: the map of the newest offsets, then segment by segment what stays
"""
