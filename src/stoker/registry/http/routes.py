"""All routes. The ones that clients ask most come first in their files; the order means nothing else."""

from typing import Final

from stoker.registry.http import (
    compatibility,
    config,
    contexts,
    mode,
    schemas,
    server_metadata,
    subject_versions,
    subjects,
)
from stoker.registry.http.routing import Route

ROUTES: Final[tuple[Route, ...]] = (
    *schemas.ROUTES,
    *subjects.ROUTES,
    *subject_versions.ROUTES,
    *compatibility.ROUTES,
    *config.ROUTES,
    *mode.ROUTES,
    *contexts.ROUTES,
    *server_metadata.ROUTES,
)
