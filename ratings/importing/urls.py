from django.urls import path

from .views import imports, pictures

urlpatterns = [
    path("collections/<slug:slug>/pictures/", pictures.pictures, name="pictures"),
    path("collections/<slug:slug>/pictures/fetch/", pictures.fetch_pictures, name="fetch_pictures"),
    path("collections/<slug:slug>/pictures/send/", pictures.send_pictures, name="send_pictures"),
    path("collections/<slug:slug>/pictures/<int:pk>/stop/", pictures.cancel_pictures, name="cancel_pictures"),
    path(
        "collections/<slug:slug>/pictures/<int:pk>/progress/", pictures.pictures_progress, name="pictures_progress"
    ),
    path("pictures/<uuid:token>/<str:size>/", pictures.picture, name="picture"),
    path("collections/<slug:slug>/import/", imports.imports, name="imports"),
    path("collections/<slug:slug>/import/send/", imports.send_files, name="send_files"),
    path("collections/<slug:slug>/import/<int:pk>/", imports.import_job, name="import_job"),
    path("collections/<slug:slug>/import/<int:pk>/check/", imports.check_import, name="check_import"),
    path("collections/<slug:slug>/import/<int:pk>/start/", imports.start_import, name="start_import"),
    path("collections/<slug:slug>/import/<int:pk>/cancel/", imports.cancel_import, name="cancel_import"),
    path("collections/<slug:slug>/import/<int:pk>/undo/", imports.undo_import, name="undo_import"),
    path("collections/<slug:slug>/import/<int:pk>/progress/", imports.import_progress, name="import_progress"),
]
