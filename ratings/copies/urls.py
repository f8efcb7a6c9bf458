from django.urls import path

from .views import archives, my_data

urlpatterns = [
    path("accounts/my-data/", my_data.my_data, name="my_data"),
    path("archives/", archives.archives, name="archives"),
    path("archives/send/", archives.send_archive, name="send_archive"),
    path("archives/<int:pk>/", archives.archive_job, name="archive_job"),
    path("archives/<int:pk>/cancel/", archives.cancel_archive, name="cancel_archive"),
    path("archives/<int:pk>/progress/", archives.archive_progress, name="archive_progress"),
]
