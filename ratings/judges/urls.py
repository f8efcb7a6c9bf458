from django.urls import path

from . import views

urlpatterns = [
    path("collections/<slug:slug>/judges/", views.judges, name="judges"),
    path("collections/<slug:slug>/judges/make/", views.make_judge, name="make_judge"),
    path("collections/<slug:slug>/judges/<int:pk>/", views.judge, name="judge"),
    path("collections/<slug:slug>/judges/<int:pk>/version/", views.make_judge_version, name="make_judge_version"),
    path("collections/<slug:slug>/judges/<int:pk>/draw/", views.draw_judge_sample, name="draw_judge_sample"),
    path("collections/<slug:slug>/judges/<int:pk>/sample/", views.take_judge_sample, name="take_judge_sample"),
    path("collections/<slug:slug>/judges/<int:pk>/drop/", views.drop_judge_sample, name="drop_judge_sample"),
    path("collections/<slug:slug>/judges/<int:pk>/use/", views.use_judge, name="use_judge"),
    path("collections/<slug:slug>/judges/<int:pk>/probes/", views.start_probes, name="start_probes"),
    path("collections/<slug:slug>/judges/<int:pk>/start/", views.start_judge_run, name="start_judge_run"),
    path("collections/<slug:slug>/judges/runs/<int:pk>/", views.judge_run, name="judge_run"),
    path("collections/<slug:slug>/judges/runs/<int:pk>/change/", views.change_judge_run, name="change_judge_run"),
    path("collections/<slug:slug>/judges/runs/<int:pk>/log.<str:format>", views.judge_log, name="judge_log"),
]
