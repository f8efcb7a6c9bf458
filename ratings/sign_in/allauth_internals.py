"""All that is used of allauth beyond its public names; a new version may change it."""

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.stagekit import clear_login

__all__ = ["clear_login", "record_authentication"]
