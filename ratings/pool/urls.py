from django.urls import path

from .views import adjudicate, anchors, pool, progress

urlpatterns = [
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
    path("collections/<slug:slug>/progress/", progress.progress_page, name="progress"),
    path("collections/<slug:slug>/progress/release/", progress.release, name="release"),
    path("collections/<slug:slug>/raters/<int:pk>/", progress.rater, name="rater"),
    path("collections/<slug:slug>/pool/", pool.pool, name="pool"),
    path("collections/<slug:slug>/pool/make/", pool.make_pool, name="make_pool"),
    path("collections/<slug:slug>/pool/more/", pool.want_more, name="want_more"),
    path("collections/<slug:slug>/pool/fewer/", pool.want_fewer, name="want_fewer"),
    path("collections/<slug:slug>/pool/judging/", pool.save_judging, name="save_judging"),
    path("collections/<slug:slug>/pool/retire/", pool.retire, name="retire"),
    path("collections/<slug:slug>/pool/bring-back/", pool.bring_back, name="bring_back"),
    path("collections/<slug:slug>/pool/holes/", pool.holes, name="holes"),
    path("collections/<slug:slug>/pool/holes/want/", pool.want_holes, name="want_holes"),
    path("collections/<slug:slug>/anchors/", anchors.anchors, name="anchors"),
    path("collections/<slug:slug>/anchors/find/", anchors.find_pair, name="find_pair"),
    path("collections/<slug:slug>/anchors/<uuid:token>/", anchors.anchor, name="anchor"),
    path("collections/<slug:slug>/anchors/<uuid:token>/save/", anchors.save_anchor, name="save_anchor"),
    path("collections/<slug:slug>/anchors/<uuid:token>/remove/", anchors.remove_anchor, name="remove_anchor"),
]
