"""Where Java is, and how a JVM is started that shall be up soon."""

import os
import shlex
import shutil
from pathlib import Path
from typing import Final

from stoker.clusters.errors import CannotStart

FAST_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""It uses a third less of the processor until it is up, and reaches less at its peak: several of them share one machine."""


def find_java(purpose: str) -> str:
    """The path of `java`, from JAVA_HOME or else the PATH. Raises CannotStart, with what to install for `purpose`."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(os.path.join(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME is {home}, and has no bin/java" if home else "there is no java on the PATH"
        raise CannotStart(
            f"{purpose} needs Java 17 or newer, and {where}. Install it: `apt install openjdk-17-jre-headless`, "
            "`brew install openjdk@17`, or conda's `openjdk`."
        )
    return java


def environment_for(directory: Path) -> dict[str, str]:
    """Where names of files are not ASCII, a JVM finds them only where the locale says that they are UTF-8."""
    return dict(os.environ) if str(directory).isascii() else os.environ | {"LC_ALL": "C.UTF-8"}


def options_of_environment(variable: str) -> list[str]:
    """What the user has every JVM of a kind be started with. Raises CannotStart, without its text, which may hold passwords."""
    text = os.environ.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CannotStart(f"{variable} is no list of options of a JVM: {error}") from None
