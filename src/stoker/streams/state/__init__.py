"""The state of an application: files that a micro-batch adds to, and a manifest for each batch that says which of them count."""
