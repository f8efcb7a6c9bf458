from django.urls import path

from ..importing.pull import allowing
from . import views

NOTICES = "collections/<slug:slug>/notices/"

urlpatterns = [
    path(NOTICES, views.notices, name="notices"),
    path(f"{NOTICES}mail/", views.mail_me, name="mail_me"),
    path(f"{NOTICES}reminders/", views.save_reminders, name="save_reminders"),
    path(f"{NOTICES}make/", views.make_webhook, name="make_webhook"),
    path(f"{NOTICES}webhooks/<int:pk>/remove/", views.remove_webhook, name="remove_webhook"),
    path(f"{NOTICES}webhooks/<int:pk>/test/", views.test_webhook, name="test_webhook"),
    path(f"{NOTICES}webhooks/<int:pk>/allow/", views.allow_webhook, name="allow_webhook"),
    path(f"{NOTICES}hosts/<int:pk>/end/", allowing.end_host, {"purpose": "webhooks"}, name="end_webhook_host"),
    path("mail/notices/<str:signed>/", views.notices_off, name="notices_off"),
    path("mail/work/<str:signed>/", views.no_mail, name="no_mail"),
]
