"""Stores as they are read while an application runs (to be filled)."""


class StoreView:
    def __init__(self, directory: object, name: str) -> None:
        self.name = name


def open_store() -> None:
    pass
