"""What the wheel takes from the Maven build: its version and the user jar."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent


def maven_version() -> str:
    """The version of the root pom.xml as Python writes versions: 0.1.0-SNAPSHOT is 0.1.0.dev0."""
    version = _pom_version()
    return re.sub(r"-SNAPSHOT$", ".dev0", version)


def _pom_version() -> str:
    pom = ROOT / "pom.xml"
    found = re.search(
        r"<artifactId>tilespark-parent</artifactId>\s*<version>([^<]+)</version>", pom.read_text("utf-8")
    )
    if found is None:
        raise ValueError(f"{pom} states no <version> behind <artifactId>tilespark-parent</artifactId>")
    return found[1]


class UserJar(BuildHookInterface[Any]):
    """Puts the user jar of the last Maven build into the wheel, as tilespark/jars/tilespark.jar."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        jar = ROOT / "spark-ext" / "target" / f"tilespark-{_pom_version()}.jar"
        if not jar.is_file():
            raise FileNotFoundError(f"{jar} is not there; build it: mvn -DskipTests package")
        build_data["force_include"][str(jar)] = "tilespark/jars/tilespark.jar"
