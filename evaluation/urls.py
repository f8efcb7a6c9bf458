from collections.abc import Callable, Sequence

from django.urls import URLPattern, path

from .agreeing.views import agreement, drift, machine
from .comparing.views import compare, differences
from .deciding.views import decisive, expected
from .frozen.views import exports, frozen, frozen_changes
from .results.views import (
    alone,
    home,
    overview,
    queries,
    query,
    query_documents,
    system,
)

FROZEN = "collections/<slug:slug>/frozen/"
TABLE, JSON = ("csv", "xlsx"), ("json",)


def files(
    route: str, view: Callable, name: str, endings: Sequence[str] = (*TABLE, *JSON), **kwargs: str
) -> list[URLPattern]:
    """The addresses of a page's files, one for each ending."""
    return [path(f"{route}.{ending}", view, kwargs | {"ending": ending}, f"{name}_{ending}") for ending in endings]


urlpatterns = [
    path("", home.home, name="home"),
    path("collections/<slug:slug>/", overview.overview, name="overview"),
    path("collections/<slug:slug>/pool/decisive/", decisive.decisive, name="decisive"),
    path("collections/<slug:slug>/pool/decisive/choose/", decisive.choose_decisive, name="choose_decisive"),
    path("collections/<slug:slug>/export/", exports.exports, name="exports"),
    *(
        path(f"collections/<slug:slug>/export/{what}/", exports.export, {"what": what}, f"export_{what}")
        for what in exports.FORMS
    ),
    path("collections/<slug:slug>/export/rounds/", exports.export_rounds, name="export_rounds"),
    path("collections/<slug:slug>/export/archive/", exports.export_archive, name="export_archive"),
    *files("collections/<slug:slug>/scores", overview.overview_files, "overview"),
    path("collections/<slug:slug>/queries/", queries.queries, name="queries"),
    *files("collections/<slug:slug>/queries/scores", queries.queries_files, "queries"),
    path("collections/<slug:slug>/queries/<int:pk>/", query.query, name="query"),
    path(
        "collections/<slug:slug>/queries/<int:pk>/documents/",
        query_documents.query_documents,
        name="query_documents",
    ),
    *files("collections/<slug:slug>/queries/<int:pk>/scores", query.query_files, "query"),
    path("collections/<slug:slug>/systems/<int:pk>/", system.system, name="system"),
    *files("collections/<slug:slug>/systems/<int:pk>/scores", system.system_files, "system"),
    path("collections/<slug:slug>/compare/", compare.compare, name="compare"),
    *files("collections/<slug:slug>/compare/differences", compare.compare_files, "compare"),
    path("collections/<slug:slug>/expected/", expected.expected, name="expected"),
    *files("collections/<slug:slug>/expected/differences", expected.expected_files, "expected", TABLE),
    *files("collections/<slug:slug>/expected/expected", expected.expected_files, "expected", JSON),
    *files("collections/<slug:slug>/expected/rounds", expected.expected_rounds_files, "expected_rounds", TABLE),
    path("collections/<slug:slug>/differences/", differences.differences, name="differences"),
    *files("collections/<slug:slug>/differences/queries", differences.differences_files, "differences", TABLE),
    *files("collections/<slug:slug>/differences/segments", differences.segments_files, "segments", TABLE),
    *files("collections/<slug:slug>/differences/differences", differences.differences_files, "differences", JSON),
    path("collections/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    *files("collections/<slug:slug>/agreement/agreement", agreement.agreement_files, "agreement"),
    path("collections/<slug:slug>/agreement/drift/", drift.drift, name="drift"),
    *files("collections/<slug:slug>/agreement/drift", drift.drift_files, "drift"),
    *files("collections/<slug:slug>/machine-only", alone.alone_files, "alone"),
    path("collections/<slug:slug>/machines/<int:pk>/", machine.machine, name="machine"),
    *files("collections/<slug:slug>/machines/<int:pk>/machine", machine.machine_files, "machine"),
    *files("collections/<slug:slug>/machines/<int:pk>/means", machine.means_files, "machine_means"),
    path(FROZEN, frozen.frozen_list, name="frozen"),
    path(f"{FROZEN}new/", frozen.freeze, name="freeze"),
    path(f"{FROZEN}compare/", frozen_changes.compare_frozen, name="compare_frozen"),
    *files(f"{FROZEN}compare/changes", frozen_changes.compare_frozen_files, "compare_frozen", TABLE),
    path(f"{FROZEN}<str:sha>/", frozen.frozen_evaluation, name="frozen_evaluation"),
    *files(f"{FROZEN}<str:sha>/means", frozen.frozen_file, "frozen", TABLE, what="means"),
    *files(f"{FROZEN}<str:sha>/queries", frozen.frozen_file, "frozen_queries", TABLE, what="queries"),
    *files(f"{FROZEN}<str:sha>/evaluation", frozen.frozen_file, "frozen", JSON),
    path(f"{FROZEN}<str:sha>/bundle.zip", frozen.frozen_bundle, name="frozen_bundle"),
]
