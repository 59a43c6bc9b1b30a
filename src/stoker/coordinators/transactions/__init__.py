"""Transactions: which producers write them, which partitions they touch, how they end."""
