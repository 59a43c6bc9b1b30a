from pathlib import Path

import pytest

from stoker.broker.apis.document import compatibility_page
from stoker.broker.apis.table import APIS, Api
from stoker.wire.api_keys import ApiKey

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == compatibility_page(), "run `make docs`"


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_each_api_is_what_its_module_says(api: Api) -> None:
    versions = f"versions {api.min_version} to {api.max_version}"
    if api.max_version == api.min_version:
        versions = f"version {api.min_version}"
    elif api.max_version == api.min_version + 1:
        versions = f"versions {api.min_version} and {api.max_version}"
    docstring = api.handler.__doc__ or ""
    assert docstring.startswith(f"{api.name} (key {api.key}), {versions}"), docstring.splitlines()[0]
    [key] = [key for key in ApiKey if key == api.key]
    assert "".join(word.capitalize() for word in key.name.split("_")) == api.name
