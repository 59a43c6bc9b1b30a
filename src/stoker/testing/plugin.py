"""The pytest plugin: a real broker in a fixture."""
