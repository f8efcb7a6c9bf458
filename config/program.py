"""What people type to run Idealist: a command of the wheel, or a file of the clone. Pages and messages show it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpRequest

CLONE_PROGRAM = "python3 run.py"  # as the documents write it
# The wheel has no locks: only run.py in a clone installs them.
IN_WHEEL = not Path(__file__).parent.with_name("requirements.lock").exists()
PROGRAM = "idealist" if IN_WHEEL else CLONE_PROGRAM


def in_templates(request: "HttpRequest") -> dict[str, str]:
    """A context processor."""
    return {"program": PROGRAM}
