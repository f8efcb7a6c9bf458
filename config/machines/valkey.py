"""The cache that counts tries in Valkey or Redis. Raises ConnectionError where it cannot be reached."""

from functools import wraps

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError


def with_connection_errors(method):
    """The method, which raises ConnectionError in place of the errors of the client library."""

    @wraps(method)
    def wrapped(*args, **kwargs):
        try:
            return method(*args, **kwargs)
        except RedisError as error:
            raise ConnectionError(f"The cache cannot be used: {error}") from error

    return wrapped


class Valkey(RedisCache):
    add = with_connection_errors(RedisCache.add)
    get = with_connection_errors(RedisCache.get)
    set = with_connection_errors(RedisCache.set)
    delete = with_connection_errors(RedisCache.delete)
    delete_many = with_connection_errors(RedisCache.delete_many)
