from django.urls import path

from ..page.urls import files
from .views import nights, watches

WATCHES = "collections/<slug:slug>/watch/"
NIGHT = f"{WATCHES}<int:watch>/nights/<int:pk>/"

urlpatterns = [
    path(WATCHES, watches.watches, name="watches"),
    path(f"{WATCHES}new/", watches.new_watch, name="new_watch"),
    path(f"{WATCHES}make/", watches.make_watch, name="make_watch"),
    path(f"{WATCHES}<int:pk>/", watches.watch, name="watch"),
    *files(f"{WATCHES}<int:pk>/nights", watches.watch_file, "watch"),
    path(f"{WATCHES}<int:pk>/change/", watches.change_watch, name="change_watch"),
    path(f"{WATCHES}<int:pk>/save/", watches.save_watch, name="save_watch"),
    path(f"{WATCHES}<int:pk>/pause/", watches.pause_watch, name="pause_watch"),
    path(f"{WATCHES}<int:pk>/run/", watches.run_watch, name="run_watch"),
    path(f"{WATCHES}<int:pk>/remove/", watches.remove_watch, name="remove_watch"),
    path(NIGHT, nights.night, name="night"),
    path(f"{NIGHT}queries/<int:query>/", nights.night_query, name="night_query"),
    path(f"{NIGHT}answer/", nights.answer_alarm, name="answer_alarm"),
    path(f"{NIGHT}ask/", nights.ask_raters_of_night, name="ask_raters_of_night"),
]
