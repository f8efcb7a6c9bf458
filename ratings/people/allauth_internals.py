"""All that is used of allauth beyond its public names; a new version may change it."""

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.stagekit import clear_login
from allauth.core.internal.ratelimit import RateLimitUsage, consume

__all__ = ["RateLimitUsage", "clear_login", "consume", "record_authentication"]
