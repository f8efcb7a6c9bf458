from django.urls import path

from ..page.urls import JSON, TABLE, files
from .views import exports, frozen, frozen_changes, shared

FROZEN = "collections/<slug:slug>/frozen/"

urlpatterns = [
    path("collections/<slug:slug>/export/", exports.exports, name="exports"),
    *(
        path(f"collections/<slug:slug>/export/{what}/", exports.export, {"what": what}, f"export_{what}")
        for what in exports.FORMS
    ),
    path("collections/<slug:slug>/export/rounds/", exports.export_rounds, name="export_rounds"),
    path("collections/<slug:slug>/export/archive/", exports.export_archive, name="export_archive"),
    path(FROZEN, frozen.frozen_list, name="frozen"),
    path(f"{FROZEN}new/", frozen.freeze, name="freeze"),
    path(f"{FROZEN}compare/", frozen_changes.compare_frozen, name="compare_frozen"),
    *files(f"{FROZEN}compare/changes", frozen_changes.compare_frozen_files, "compare_frozen", TABLE),
    path(f"{FROZEN}<str:sha>/", frozen.frozen_evaluation, name="frozen_evaluation"),
    *files(f"{FROZEN}<str:sha>/means", frozen.frozen_file, "frozen", TABLE, what="means"),
    *files(f"{FROZEN}<str:sha>/queries", frozen.frozen_file, "frozen_queries", TABLE, what="queries"),
    *files(f"{FROZEN}<str:sha>/evaluation", frozen.frozen_file, "frozen", JSON),
    path(f"{FROZEN}<str:sha>/bundle.zip", frozen.frozen_bundle, name="frozen_bundle"),
    path(f"{FROZEN}<str:sha>/share/", shared.share, name="share"),
    path(f"{FROZEN}<str:sha>/stop_sharing/", shared.stop_sharing, name="stop_sharing"),
    path("shared/<str:key>/", shared.shared, name="shared"),
]
