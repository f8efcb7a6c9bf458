"""Tries in Valkey or Redis. Where it cannot be reached, a ConnectionError says so."""

from functools import wraps

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError


def telling(method):
    """The method, with errors of the server as a ConnectionError."""

    @wraps(method)
    def wrapped(*args, **kwargs):
        try:
            return method(*args, **kwargs)
        except RedisError as error:
            raise ConnectionError(f"The cache cannot be used: {error}") from error

    return wrapped


class Valkey(RedisCache):
    add = telling(RedisCache.add)
    get = telling(RedisCache.get)
    set = telling(RedisCache.set)
    get_many = telling(RedisCache.get_many)
    touch = telling(RedisCache.touch)
    delete_many = telling(RedisCache.delete_many)
