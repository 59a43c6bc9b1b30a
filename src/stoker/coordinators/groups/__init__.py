"""Consumer groups, of the classic protocol and of KIP-848, and their committed offsets."""
