"""The filter `account_key`."""

from django import template

from .access import account_key

register = template.Library()
register.filter("account_key", account_key)
