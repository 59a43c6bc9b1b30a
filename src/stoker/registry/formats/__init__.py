"""What the registry knows of each kind of schema: how it is read, written in one form, and compared with another."""
