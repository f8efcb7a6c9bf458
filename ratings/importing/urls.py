from django.urls import path

from .pull import allowing
from .views import engines, imports, jobs, pictures

JOBS = "collections/<slug:slug>/jobs/<int:pk>/"
PICTURES = "collections/<slug:slug>/pictures/"
ENGINES = "collections/<slug:slug>/engines/"

urlpatterns = [
    path(PICTURES, pictures.pictures, name="pictures"),
    path(f"{PICTURES}fetch/", pictures.fetch_pictures, name="fetch_pictures"),
    path(f"{PICTURES}send/", pictures.send_pictures, name="send_pictures"),
    path(f"{PICTURES}allow-host/", pictures.allow_picture_host, name="allow_picture_host"),
    path(f"{PICTURES}<int:pk>/end-host/", allowing.end_host, {"purpose": "pictures"}, name="end_picture_host"),
    path("pictures/<uuid:token>/<str:size>/", pictures.picture, name="picture"),
    path("collections/<slug:slug>/import/", imports.imports, name="imports"),
    path("collections/<slug:slug>/import/send/", imports.send_files, name="send_files"),
    path("collections/<slug:slug>/import/<int:pk>/", imports.import_job, name="import_job"),
    path("collections/<slug:slug>/import/<int:pk>/check/", imports.check_import, name="check_import"),
    path("collections/<slug:slug>/import/<int:pk>/start/", imports.start_import, name="start_import"),
    path(f"{JOBS}progress/", jobs.job_progress, name="job_progress"),
    path(f"{JOBS}cancel/", jobs.cancel_job, name="cancel_job"),
    path(f"{JOBS}undo/", jobs.undo_job, name="undo_job"),
    path(ENGINES, engines.engines, name="engines"),
    path(f"{ENGINES}connect/", engines.connect, name="connect_engine"),
    path(f"{ENGINES}make/", engines.make_engine, name="make_engine"),
    path(f"{ENGINES}<int:pk>/", engines.engine, name="engine"),
    path(f"{ENGINES}<int:pk>/change/", engines.change_engine, name="change_engine"),
    path(f"{ENGINES}<int:pk>/save/", engines.save_engine, name="save_engine"),
    path(f"{ENGINES}<int:pk>/allow/", engines.allow_engine, name="allow_engine"),
    path(f"{ENGINES}hosts/<int:pk>/end/", allowing.end_host, {"purpose": "engines"}, name="end_engine_host"),
    path(f"{ENGINES}<int:pk>/ask/", engines.ask_engine, name="ask_engine"),
    path(f"{ENGINES}<int:pk>/places/", engines.place_engine, name="place_engine"),
    path(f"{ENGINES}<int:pk>/texts/", engines.replace_texts, name="replace_texts"),
    path(f"{ENGINES}<int:pk>/remove/", engines.remove_engine, name="remove_engine"),
    path(f"{ENGINES}<int:pk>/fetch/", engines.fetch_engine, name="fetch_engine"),
    path(f"{ENGINES}fetched/<int:pk>/", engines.fetch, name="fetch"),
    path(f"{ENGINES}fetched/<int:pk>/stop/", engines.stop_fetch, name="stop_fetch"),
]
