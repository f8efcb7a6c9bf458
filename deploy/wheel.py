"""What the wheel needs: the packages of requirements.txt, and as extras the exact versions in the locks."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

EXTRAS = {"locked": "requirements.lock", "machines": "requirements-machines.lock"}
NOT_SERVING = {"pytest", "pytest-django", "pip", "setuptools"}  # of tests, and of what makes environments
PACKAGE = re.compile(r"^[\w.-]+")


def packages(file: Path) -> list[str]:
    """Each package with its version and its condition, without comments and hashes."""
    lines = (re.split(r" #| \\", line)[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    named = ((found[0], line) for line in lines if (found := PACKAGE.match(line)) and not line.startswith("-"))
    return [line for name, line in named if name not in NOT_SERVING]


class Packages(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        root = Path(self.root)
        metadata["dependencies"] = packages(root / "requirements.txt")
        metadata["optional-dependencies"] = {name: packages(root / lock) for name, lock in EXTRAS.items()}
