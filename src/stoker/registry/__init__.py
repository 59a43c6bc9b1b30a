"""Schemas and their compatibility: a registry with Confluent's REST API, whose only store is a compacted topic."""
