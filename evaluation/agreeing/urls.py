from django.urls import path

from ..page.urls import files
from .views import agreement, drift, machine

urlpatterns = [
    path("collections/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    *files("collections/<slug:slug>/agreement/agreement", agreement.agreement_files, "agreement"),
    path("collections/<slug:slug>/agreement/drift/", drift.drift, name="drift"),
    *files("collections/<slug:slug>/agreement/drift", drift.drift_files, "drift"),
    path("collections/<slug:slug>/machines/<int:pk>/", machine.machine, name="machine"),
    *files("collections/<slug:slug>/machines/<int:pk>/machine", machine.machine_files, "machine"),
]
