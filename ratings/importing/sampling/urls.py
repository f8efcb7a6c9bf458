from django.urls import path

from .views import logs, samples

LOGS = "collections/<slug:slug>/sampling/"

urlpatterns = [
    path(LOGS, logs.sampling, name="sampling"),
    path(f"{LOGS}send/", logs.send_log, name="send_log"),
    path(f"{LOGS}<int:pk>/", logs.log_job, name="log_job"),
    path(f"{LOGS}<int:pk>/check/", logs.check_log, name="check_log"),
    path(f"{LOGS}<int:pk>/draw/", logs.draw_log, name="draw_log"),
    path(f"{LOGS}<int:pk>/more/", logs.draw_more, name="draw_more"),
    path(f"{LOGS}samples/<int:pk>/", samples.sampled, name="sampled"),
    path(f"{LOGS}samples/<int:pk>/csv/", samples.sampled_csv, name="sampled_csv"),
    path(f"{LOGS}samples/<int:pk>/decide/", samples.decide_sampled, name="decide_sampled"),
]
