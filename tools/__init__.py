"""What develops Stoker and is not part of it."""
