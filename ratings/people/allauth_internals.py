"""All that is used of allauth beyond its public names; a new version may change it."""

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.stagekit import clear_login
from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage, consume

# A count that cannot be locked is refused as if there were too many. allauth waits for one second: people who sign
# in at once from one office were refused, and so were all for ten seconds where a server was killed in a count.
ratelimit.CACHE_LOCK_WAIT_TIMEOUT = 3 * ratelimit.CACHE_LOCK_TIMEOUT

__all__ = ["RateLimitUsage", "clear_login", "consume", "record_authentication"]
