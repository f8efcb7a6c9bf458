"""The router of all calls of the record. One, because of two routers with the same address one hides the other."""

from ninja import Router

router = Router()
