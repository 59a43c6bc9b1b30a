"""The files of the repository keep what they promise each other."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

# Written in halves, so that this file passes its own test.
REGISTRY_HOSTS = [
    f"{name}.{domain}"
    for name, domain in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("yarnpkg", "com"),
        ("repo.maven.apache", "org"),
        ("repo1.maven", "org"),
        ("deb.debian", "org"),
        ("docker", "io"),
    ]
]
DOCUMENTS = ["README.md", "CONTRIBUTING.md"]


@pytest.fixture(scope="module")
def tracked_files(repository: Path) -> list[Path]:
    if not (repository / ".git").exists():
        pytest.skip("not a git work tree")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True)
    return [path for name in listing.stdout.split("\0") if name and (path := repository / name).is_file()]


def test_no_file_names_a_package_registry(repository: Path, tracked_files: list[Path]) -> None:
    """Where packages come from is each machine's own setting; a host in a file would overrule it."""
    host = re.compile("|".join(map(re.escape, REGISTRY_HOSTS)).encode())
    assert [str(path.relative_to(repository)) for path in tracked_files if host.search(path.read_bytes())] == []


@pytest.mark.parametrize("name", ["runtime.txt", "development.txt"])
def test_requirements_are_pinned_and_hashed(repository: Path, name: str) -> None:
    lines = (repository / "requirements" / name).read_text().replace("\\\n", "").splitlines()
    loose = [line for line in lines if not line.startswith("#") and not re.match(r"\S+==\S.* --hash=sha256:", line)]
    assert loose == []


def test_requirements_cover_pyproject(repository: Path) -> None:
    """Whoever adds a dependency and forgets `make lock` learns it here, not from a user."""
    pyproject = tomllib.loads((repository / "pyproject.toml").read_text())
    groups = pyproject["dependency-groups"]
    declared = {
        "runtime.txt": pyproject["project"]["dependencies"],
        "development.txt": [each for group in groups.values() for each in group if isinstance(each, str)],
    }
    missing = {
        (name, distribution)
        for name, requirements in declared.items()
        for distribution in map(_distribution, requirements)
        if f"\n{distribution}==" not in (repository / "requirements" / name).read_text()
    }
    assert missing == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_target_that_is_documented_exists(repository: Path, document: str) -> None:
    makefile = (repository / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(_code(repository / document))))
    assert named
    assert named <= targets


@pytest.mark.parametrize("document", [*DOCUMENTS, "docs/README.md", "CHANGELOG.md"])
def test_every_relative_link_leads_somewhere(repository: Path, document: str) -> None:
    path = repository / document
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_architecture_decisions_are_listed(repository: Path) -> None:
    index = (repository / "docs" / "README.md").read_text()
    decisions = [path.name for path in (repository / "docs" / "adr").glob("*.md")]
    assert decisions
    assert [name for name in decisions if f"adr/{name}" not in index] == []


def _code(document: Path) -> list[str]:
    """What the document shows as code: its blocks and its `spans`."""
    return re.findall(r"```.*?```|`[^`\n]+`", document.read_text(), re.DOTALL)


def _distribution(requirement: str) -> str:
    """The name pip files a requirement under: "Kafka_Python[lz4]>=3; ..." is kafka-python."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()
