"""What is wrong with settings.

StokerError
└── InvalidSettings     a file, variable or key that cannot be used
"""

from stoker.errors import StokerError


class InvalidSettings(StokerError):
    """A file, variable or key that cannot be used; the message says where it stands, and the choices."""
