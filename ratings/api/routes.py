"""The router of all calls of the record. There is only one: of two with the same address, one hides the other."""

from ninja import Router

router = Router()
