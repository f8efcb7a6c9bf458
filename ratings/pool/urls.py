from django.urls import path

from .views import adjudicate, ageing, anchors, asking_again, leaving_out, pool, progress

ADJUDICATE = "collections/<slug:slug>/adjudicate/"
POOL = "collections/<slug:slug>/pool/"
RATER = "collections/<slug:slug>/people/raters/<int:pk>/"

urlpatterns = [
    path(ADJUDICATE, adjudicate.adjudicate, name="adjudicate"),
    path(f"{ADJUDICATE}decided/", adjudicate.adjudicated, name="adjudicated"),
    path(f"{ADJUDICATE}<uuid:token>/", adjudicate.adjudicate_pair, name="adjudicate_pair"),
    path(f"{ADJUDICATE}<uuid:token>/save/", adjudicate.save_adjudication, name="save_adjudication"),
    path(f"{ADJUDICATE}<uuid:token>/withdraw/", adjudicate.withdraw_adjudication, name="withdraw_adjudication"),
    path(f"{ADJUDICATE}<uuid:token>/life/", adjudicate.pair_life, name="pair_life"),
    path("collections/<slug:slug>/progress/", progress.progress_page, name="progress"),
    path("collections/<slug:slug>/progress/release/", progress.release, name="release"),
    path(f"{RATER}leave-out/", leaving_out.leave_out, name="leave_out"),
    path(f"{RATER}count-again/", leaving_out.count_again, name="count_again"),
    path(POOL, pool.pool, name="pool"),
    path(f"{POOL}aged/", ageing.aged, name="aged"),
    path(f"{POOL}aged/ask/", ageing.ask_aged_again, name="ask_aged_again"),
    path(f"{POOL}make/", pool.make_pool, name="make_pool"),
    path(f"{POOL}more/", pool.want_more, name="want_more"),
    path(f"{POOL}fewer/", pool.want_fewer, name="want_fewer"),
    path(f"{POOL}judging/", pool.save_judging, name="save_judging"),
    path(f"{POOL}retire/", pool.retire, name="retire"),
    path(f"{POOL}bring-back/", pool.bring_back, name="bring_back"),
    path(f"{POOL}ask-again/", asking_again.ask_again, name="ask_again"),
    path(f"{POOL}ask-again/raters/", asking_again.ask_raters_again, name="ask_raters_again"),
    path(f"{POOL}ask-again/take-back/", asking_again.take_back_asking, name="take_back_asking"),
    path(f"{POOL}holes/", pool.holes, name="holes"),
    path(f"{POOL}holes/want/", pool.want_holes, name="want_holes"),
    path("collections/<slug:slug>/anchors/", anchors.anchors, name="anchors"),
    path("collections/<slug:slug>/anchors/find/", anchors.find_pair, name="find_pair"),
    path("collections/<slug:slug>/anchors/<uuid:token>/", anchors.anchor, name="anchor"),
    path("collections/<slug:slug>/anchors/<uuid:token>/save/", anchors.save_anchor, name="save_anchor"),
    path("collections/<slug:slug>/anchors/<uuid:token>/remove/", anchors.remove_anchor, name="remove_anchor"),
]
