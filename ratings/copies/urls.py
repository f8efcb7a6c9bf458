from django.urls import path

from ..models import Job
from .views import archives, jobs, my_data

ARCHIVE, COPY = {"kind": Job.Kind.ARCHIVE}, {"kind": Job.Kind.COPY}

urlpatterns = [
    path("accounts/my-data/", my_data.my_data, name="my_data"),
    path("archives/", archives.archives, name="archives"),
    path("archives/send/", archives.send_archive, name="send_archive"),
    path("archives/<int:pk>/", jobs.archive_job, ARCHIVE, name="archive_job"),
    path("archives/<int:pk>/cancel/", jobs.cancel_making, ARCHIVE, name="cancel_archive"),
    path("archives/<int:pk>/progress/", jobs.making_progress, ARCHIVE, name="archive_progress"),
    path("copies/<int:pk>/", jobs.copy_job, COPY, name="copy_job"),
    path("copies/<int:pk>/cancel/", jobs.cancel_making, COPY, name="cancel_copy"),
    path("copies/<int:pk>/progress/", jobs.making_progress, COPY, name="copy_progress"),
]
