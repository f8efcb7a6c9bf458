"""Where the calls of the record hang: one router, for of two that share an address one would hide the other."""

from ninja import Router

router = Router()
