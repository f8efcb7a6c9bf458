"""The application for servers that speak ASGI, in eight threads."""

from a2wsgi import WSGIMiddleware

from config.wsgi import application as wsgi

application = WSGIMiddleware(wsgi, workers=8)
