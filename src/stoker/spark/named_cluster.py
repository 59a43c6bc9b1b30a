"""The cluster and the registry that stoker.toml or variables name, as options of `format("stoker")`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from stoker.settings.alternatives import overlaid
from stoker.settings.current import current_settings
from stoker.settings.definitions import REGISTRY_URL

KAFKA: Final = "kafka."
USER_OPTION: Final = "schema.registry.basic.auth.user.info"


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedCluster:
    """`options` are those of security, of the cluster and of the registry."""

    bootstrap_servers: str
    registry: str | None
    options: dict[str, str]

    def options_under(self, given: Mapping[str, str]) -> dict[str, str]:
        """With those that are given to one reader or application, which are stronger."""
        return overlaid(self.options, given, KAFKA)

    @classmethod
    def of(cls, bootstrap_servers: str | None, registry: str | None) -> Self:
        """What is named, where no cluster is given; an empty `registry` is none, whatever is named.

        Who gives a cluster is on its own, so that a test with a broker of its own never meets the registry or the passwords of
        another cluster. Raises InvalidSettings.
        """
        if bootstrap_servers is not None:
            return cls(bootstrap_servers=bootstrap_servers, registry=registry or None, options={})
        settings = current_settings({REGISTRY_URL.name: registry})
        options = {f"{KAFKA}{name}": text for name, text in settings.properties.items()}
        if settings.registry_user.text is not None and registry != "":
            options[USER_OPTION] = settings.registry_user.text
        return cls(
            bootstrap_servers=str(settings.bootstrap_servers.text),
            registry=settings.registry_url.named or None,
            options=options,
        )
