from django.urls import path

from ..web.language import catalog
from .views import acts, desk_settings, rate, session

urlpatterns = [
    path("words/<str:code>.js", catalog, name="catalog"),
    path("accounts/session/", session.session, name="session"),
    path("collections/<slug:slug>/rate/", rate.rate, name="rate"),
    path("collections/<slug:slug>/rate/next/", acts.claim, name="claim"),
    path("collections/<slug:slug>/rate/undo/", acts.undo_rating, name="undo_rating"),
    path("collections/<slug:slug>/rate/stop/", acts.stop_rating, name="stop_rating"),
    path("collections/<slug:slug>/rate/<uuid:token>/", rate.rate_pair, name="rate_pair"),
    path("collections/<slug:slug>/rate/<uuid:token>/save/", acts.save_rating, name="save_rating"),
    path("collections/<slug:slug>/rate/<uuid:token>/skip/", acts.skip_pair, name="skip_pair"),
    path("collections/<slug:slug>/my-ratings/", rate.my_ratings, name="my_ratings"),
    path("collections/<slug:slug>/settings/", desk_settings.desk_settings, name="desk_settings"),
]
