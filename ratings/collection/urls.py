from django.urls import path

from .views import collection, deletions, documents, new_collection, scale, set_up, systems

COLLECTION = "collections/<slug:slug>/collection/"

urlpatterns = [
    path("new-collection/", new_collection.new_collection, name="new_collection"),
    path("new-collection/make/", new_collection.make_collection, name="make_collection"),
    path("deleted/<int:pk>/restore/", deletions.restore_collection, name="restore_collection"),
    path("deleted/<int:pk>/remove/", deletions.remove_collection, name="remove_collection"),
    path(COLLECTION, collection.collection, name="collection"),
    path(f"{COLLECTION}describe/", collection.describe, name="describe_collection"),
    path(f"{COLLECTION}put-away/", collection.put_away, name="put_away"),
    path(f"{COLLECTION}take-out/", collection.take_out, name="take_out"),
    path(f"{COLLECTION}copy/", collection.copy_collection, name="copy_collection"),
    path(f"{COLLECTION}delete/", collection.deletion, name="deletion"),
    path(f"{COLLECTION}delete/confirm/", collection.delete_collection, name="delete_collection"),
    path("collections/<slug:slug>/set-up/", set_up.set_up, name="set_up"),
    path("collections/<slug:slug>/set-up/samples/<str:name>", set_up.sample, name="sample"),
    path("collections/<slug:slug>/scale/", scale.scale, name="scale"),
    path("collections/<slug:slug>/scale/check/", scale.check_scale, name="check_scale"),
    path("collections/<slug:slug>/scale/save/", scale.save_scale, name="save_scale"),
    path("collections/<slug:slug>/systems/<int:pk>/baseline/", systems.make_baseline, name="make_baseline"),
    path("collections/<slug:slug>/systems/<int:pk>/delete/", systems.delete_system, name="delete_system"),
    path("collections/<slug:slug>/documents/<int:pk>/", documents.document, name="document"),
]
