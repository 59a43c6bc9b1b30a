"""Stoker: an event-streaming platform for Python teams."""

