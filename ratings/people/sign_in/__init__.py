"""Sign-in beside the password: a provider of OpenID Connect, roles by its groups, and second factors."""
