"""What an administrator asks of a cluster, one module a noun."""
