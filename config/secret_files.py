"""Reads secrets from files, as vaults, systemd and container engines provide them."""

from collections.abc import MutableMapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

NAMES = (
    "SECRET_KEY",
    "SECRET_KEY_FORMER",
    "DATABASE_URL",
    "IDEALIST_OIDC_SECRET",
    "IDEALIST_MAIL",
    "IDEALIST_METRICS_TOKEN",
    "IDEALIST_JUDGE_KEYS",
)


def read(environment: MutableMapping[str, str]) -> None:
    """Set NAME to the content of the file in NAME_FILE, for each of NAMES. An error never repeats a secret."""
    for name in NAMES:
        if path := environment.get(f"{name}_FILE"):
            environment[name] = content(Path(path), f"{name}_FILE")


def content(path: Path, setting: str) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ImproperlyConfigured(f"{setting}: {path} cannot be read: {why}.") from error
    if not text:
        raise ImproperlyConfigured(f"{setting}: {path} is empty. Write the secret into it.")
    return text
