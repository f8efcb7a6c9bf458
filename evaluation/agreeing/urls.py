from django.urls import path

from ..page.urls import files
from .views import agreement, drift, leaving_out, machine

urlpatterns = [
    path("collections/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    *files("collections/<slug:slug>/agreement/agreement", agreement.agreement_files, "agreement"),
    path("collections/<slug:slug>/agreement/drift/", drift.drift, name="drift"),
    *files("collections/<slug:slug>/agreement/drift", drift.drift_files, "drift"),
    path("collections/<slug:slug>/people/raters/<int:pk>/left-out/", leaving_out.leaving_out, name="leaving_out"),
    path("collections/<slug:slug>/machines/<int:pk>/", machine.machine, name="machine"),
    *files("collections/<slug:slug>/machines/<int:pk>/machine", machine.machine_files, "machine"),
]
