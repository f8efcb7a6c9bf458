"""Storage of static files: compressed, with a hash of the content in the name.

Old files are not deleted, so that a page that is open during an upgrade still finds its files.
"""

from collections.abc import Iterable

from django.contrib.staticfiles.finders import AppDirectoriesFinder
from whitenoise.storage import CompressedManifestStaticFilesStorage


class AppFinder(AppDirectoriesFinder):
    """Leaves out the maps of sources that come with django-ninja, and its second page, which are megabytes."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[tuple]:
        return super().list([*(ignore_patterns or ()), "*.map", "redoc*"])


class Storage(CompressedManifestStaticFilesStorage):
    """Leaves links to maps of sources as they are, since `AppFinder` leaves out the maps."""

    support_js_module_import_aggregation = True
    patterns = tuple(
        (names, tuple(pattern for pattern in patterns if "sourceMappingURL" not in str(pattern)))
        for names, patterns in CompressedManifestStaticFilesStorage.patterns
    )
