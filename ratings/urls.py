from django.conf import settings
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.urls import path, reverse_lazy

from . import sample
from .views import adjudicate, documents, look_around, rate

urlpatterns = [
    path(
        "accounts/sign-in/",
        LoginView.as_view(
            template_name="ratings/sign_in.html",
            redirect_authenticated_user=True,
            extra_context={"sign_ins_file": sample.sign_ins_file() if settings.DEMO else None},
        ),
        name="sign_in",
    ),
    path("accounts/sign-out/", LogoutView.as_view(), name="sign_out"),
    path(
        "accounts/password/",
        PasswordChangeView.as_view(template_name="ratings/password_change.html", success_url=reverse_lazy("home")),
        name="password_change",
    ),
    path("look-around/<str:role>/", look_around.look_around, name="look_around"),
    path("collections/<slug:slug>/rate/", rate.rate, name="rate"),
    path("collections/<slug:slug>/rate/next/", rate.claim, name="claim"),
    path("collections/<slug:slug>/rate/undo/", rate.undo_rating, name="undo_rating"),
    path("collections/<slug:slug>/rate/stop/", rate.stop_rating, name="stop_rating"),
    path("collections/<slug:slug>/rate/<uuid:token>/", rate.rate_pair, name="rate_pair"),
    path("collections/<slug:slug>/rate/<uuid:token>/save/", rate.save_rating, name="save_rating"),
    path("collections/<slug:slug>/rate/<uuid:token>/skip/", rate.skip_pair, name="skip_pair"),
    path("collections/<slug:slug>/my-ratings/", rate.my_ratings, name="my_ratings"),
    path("collections/<slug:slug>/adjudicate/", adjudicate.adjudicate, name="adjudicate"),
    path("collections/<slug:slug>/adjudicate/decided/", adjudicate.adjudicated, name="adjudicated"),
    path("collections/<slug:slug>/adjudicate/<uuid:token>/", adjudicate.adjudicate_pair, name="adjudicate_pair"),
    path(
        "collections/<slug:slug>/adjudicate/<uuid:token>/save/",
        adjudicate.save_adjudication,
        name="save_adjudication",
    ),
    path(
        "collections/<slug:slug>/adjudicate/<uuid:token>/withdraw/",
        adjudicate.withdraw_adjudication,
        name="withdraw_adjudication",
    ),
    path("collections/<slug:slug>/adjudicate/<uuid:token>/life/", adjudicate.pair_life, name="pair_life"),
    path("collections/<slug:slug>/documents/<int:pk>/", documents.document, name="document"),
]
