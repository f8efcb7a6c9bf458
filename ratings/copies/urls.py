from django.urls import path

from .views import archives, copies, my_data

urlpatterns = [
    path("accounts/my-data/", my_data.my_data, name="my_data"),
    path("archives/", archives.archives, name="archives"),
    path("archives/send/", archives.send_archive, name="send_archive"),
    path("archives/<int:pk>/", archives.archive_job, name="archive_job"),
    path("archives/<int:pk>/cancel/", archives.cancel_archive, name="cancel_archive"),
    path("archives/<int:pk>/progress/", archives.archive_progress, name="archive_progress"),
    path("copies/<int:pk>/", copies.copy_job, name="copy_job"),
    path("copies/<int:pk>/cancel/", copies.cancel_copy, name="cancel_copy"),
    path("copies/<int:pk>/progress/", copies.copy_progress, name="copy_progress"),
]
