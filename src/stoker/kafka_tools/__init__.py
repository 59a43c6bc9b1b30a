"""Kafka's own command lines: `kafka-topics.sh ...` and the rest, read as Kafka reads them, answered with what Kafka prints.

One module a script, each with `main(arguments) -> int`; `table.py` says which, and loads none of them before it is used.
"""
