"""Stoker and Apache Kafka under the same loads, on the same box, in turns."""
