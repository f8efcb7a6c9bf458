"""Sign-in at a provider of OpenID Connect: authorization code with PKCE, state and nonce.

allauth makes the state and the verifier of PKCE and exchanges the code. But it asks for no nonce, does not check
the signature of a token that came over TLS nor the issuer of the discovery document, and takes scopes and
parameters from the visitor's address. This module closes each of these gaps.
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlencode, urlsplit

import jwt
import requests
from allauth.account.app_settings import REAUTHENTICATION_TIMEOUT
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from .. import throttle
from .person import Away, Cancelled, Person, Refused, digest

PROVIDER_ID = "oidc"
# Only algorithms with a public key: otherwise a token signed by HS256 with that key as secret would be accepted.
ALGORITHMS = [kind + bits for kind in ("RS", "PS", "ES") for bits in ("256", "384", "512")] + ["EdDSA"]
LEEWAY = 60  # seconds by which clocks may differ
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
LOGOUT_TOKEN_SECONDS = 600  # after which a logout token is too old, whatever its expiry
LONGEST_QUOTATION = 97  # characters of a refusal that quotes the visitor's address, which anybody can write

# The errors of an answer that is cut off, is not JSON, or is JSON of another shape.
BROKEN_ANSWER = (requests.RequestException, OAuth2Error, ValueError, KeyError, TypeError, AttributeError)


class Endpoints(OpenIDConnectOAuth2Adapter):
    """allauth's adapter, with the discovery document checked."""

    def get_provider(self) -> OpenIDConnectProvider:
        return provider(self.request)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse("provider_callback"))

    @property
    def openid_config(self) -> dict:
        config = super().openid_config
        issuer = settings.OIDC["issuer"]
        if config["issuer"].rstrip("/") != issuer:
            raise Refused(f"the discovery document is of {config['issuer']}, not of {issuer}")
        schemes = {"https", urlsplit(issuer).scheme}
        for name, address in config.items():
            if name.endswith(("_endpoint", "jwks_uri")) and urlsplit(address).scheme not in schemes:
                raise Refused(f"the discovery document names an address without TLS: {name}")
        return config


class Adapter(DefaultSocialAccountAdapter):
    """allauth's hooks for its requests to the provider, and for the state that comes back."""

    def generate_state_param(self, state: dict) -> str:
        return secrets.token_urlsafe(24)  # 192 bits; allauth's own have 95

    def get_requests_session(self) -> requests.Session:
        """A session with a timeout that follows no redirect, because the issuer names each address itself."""
        session = super().get_requests_session()
        session.max_redirects = 0
        return session


class Provider(OpenIDConnectProvider):
    oauth2_adapter_class = Endpoints


def provider(request: HttpRequest) -> Provider:
    """The OpenID Connect provider that the settings name, for this request.

    allauth wants a SocialApp, which is usually a row of its table. This one is made anew and never saved, so that
    the settings alone decide.
    """
    oidc = settings.OIDC
    app = SocialApp(
        provider=Provider.id,
        provider_id=PROVIDER_ID,
        name=oidc["name"],
        client_id=oidc["client"],
        secret=oidc["secret"],
        settings={"server_url": oidc["issuer"], "scope": oidc["scopes"], "oauth_pkce_enabled": True},
    )
    return Provider(request, app=app)


def address_to_sign_in(request: HttpRequest, next_page: str) -> str:
    """The provider's address to which a visitor goes to sign in. Raises Away and Refused.

    `next_page`: where they come back to.
    """
    params = {"nonce": secrets.token_urlsafe(24)}  # 192 bits
    asked_again_at = None
    if request.user.is_authenticated:
        # They must show once more who they are, so the provider must ask for it, and say when they did.
        params |= {"prompt": "login", "max_age": "0"}
        asked_again_at = time.time()
    # allauth keeps these in the session until the provider sends the visitor back, and `person_of` reads them.
    state = {"nonce": params["nonce"], "again": asked_again_at}
    try:
        redirect = provider(request).redirect(request, "login", next_url=next_page, auth_params=params, **state)
    except BROKEN_ANSWER as error:
        raise Away from error
    return redirect["Location"]


def person_of(request: HttpRequest) -> Person:
    """The person whom the provider sent back with a code: exchange it for the tokens that describe them.

    The state in the address, which `address_to_sign_in` made, works once. Raises Away and Refused.
    """
    try:
        state = provider(request).unstash_redirect_state(request, request.GET.get("state", ""))
    except PermissionDenied as error:
        raise Refused("the state is unknown, used or old") from error
    if "code" not in request.GET:
        error_name = request.GET.get("error", "nothing")
        refusal = Cancelled if error_name == "access_denied" else Refused
        raise refusal(f"the provider said {error_name!r}"[:LONGEST_QUOTATION])
    endpoints = Endpoints(request, PROVIDER_ID)
    try:
        issuer = endpoints.openid_config["issuer"]
        if request.GET.get("iss", issuer) != issuer:  # not every provider names itself in the address
            raise Refused("the code is of another issuer")
        client = endpoints.get_client(request, provider(request).app)
        verifier = state["pkce_code_verifier"]
        tokens = endpoints.get_access_token_data(request, None, client, pkce_code_verifier=verifier)
        claims = verified(tokens["id_token"], keys(endpoints), issuer, state["nonce"])
        claims = with_userinfo(claims, endpoints, tokens["access_token"])
    except BROKEN_ANSWER as error:
        raise Away from error
    return person_from(claims, state, tokens["id_token"])


def person_from(claims: dict, state: dict, id_token: str) -> Person:
    """The person of valid claims. Raises Refused if they had to sign in once more and did not.

    `state`: what `address_to_sign_in` kept.
    """
    return Person(
        issuer=claims["iss"],
        subject=claims["sub"],
        name=str(claims.get("preferred_username") or claims.get("email") or claims.get("name") or ""),
        address=str(claims.get("email") or "") if claims.get("email_verified") in (True, "true") else "",
        groups=groups_in(claims),
        session=str(claims.get("sid") or ""),
        second_factor=gave_second_factor(claims),
        fresh=checked_freshness(claims, state.get("again")),
        id_token=id_token,
        next=state.get("next", ""),
    )


def groups_in(claims: dict) -> frozenset[str]:
    """The names of the person's groups; empty if the provider sends none.

    The settings name the claim, such as "groups". If no claim is called realm.roles, it is `roles` in `realm`.
    """
    name = settings.OIDC["groups_claim"]
    groups = claims.get(name)
    if groups is None:  # there is no claim of the whole name, dots included
        groups = claims
        for part in name.split("."):
            groups = groups.get(part) if isinstance(groups, dict) else None
    if isinstance(groups, str):  # some providers send one group without a list
        groups = [groups]
    if not isinstance(groups, list):
        return frozenset()
    return frozenset(group for group in groups if isinstance(group, str))


def gave_second_factor(claims: dict) -> bool:
    """Whether `acr` or `amr` of the ID token has a value that the settings name."""
    methods = claims.get("amr")
    values = [claims.get("acr"), *(methods if isinstance(methods, list) else [])]
    return any(isinstance(value, str) and value in settings.PROVIDER_SECOND_FACTOR for value in values)


def checked_freshness(claims: dict, sent_at: float | None) -> bool:
    """Whether the person showed the provider just now who they are, rather than use an open session there.

    `sent_at`: when they were sent there to show it once more, None if they were not sent for that. Raises Refused
    if they were sent, and the claims do not say that they have shown it since. Times are in seconds since 1970.
    """
    signed_in_at = claims.get("auth_time")
    earliest = sent_at or time.time() - REAUTHENTICATION_TIMEOUT
    fresh = isinstance(signed_in_at, int | float) and signed_in_at >= earliest - LEEWAY
    if sent_at and not fresh:
        problem = f"auth_time of the token is {signed_in_at!r}"
        raise Refused(f"the person had to sign in at the provider once more, and {problem}")
    return fresh


def keys(endpoints: Endpoints) -> list[dict]:
    return fetched(endpoints.openid_config["jwks_uri"])["keys"]


def fetched(address: str, **headers: str) -> dict:
    with get_adapter().get_requests_session() as session:
        answer = session.get(address, headers=headers)
    answer.raise_for_status()
    return answer.json()


def verified(id_token: str, published: list[dict], issuer: str, nonce: str) -> dict:
    """The claims of an ID token of the provider that is valid for this server and this sign-in. Raises Refused."""
    claims = claims_of(id_token, published, issuer, needed=["sub", "nonce"])
    if not constant_time_compare(str(claims["nonce"]), nonce):
        raise Refused("the token is of another try: its nonce is wrong")
    client = settings.OIDC["client"]
    has_several_audiences = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    # `azp` is the client for which a token was made. Only a token for one audience may leave it out.
    if claims.get("azp", None if has_several_audiences else client) != client:
        raise Refused("the token was made for another client")
    return claims


def claims_of(token: str, published: list[dict], issuer: str, *, needed: list[str]) -> dict:
    """The claims of a valid token of the provider for this server, with the needed ones. Raises Refused."""
    wanted = {"audience": settings.OIDC["client"], "issuer": issuer, "leeway": LEEWAY}
    required = ["exp", "iat", "iss", "aud", *needed]
    try:
        for key in fitting_keys(token, published):
            with suppress(jwt.InvalidSignatureError):  # another key may have signed it
                return jwt.decode(token, key, algorithms=ALGORITHMS, options={"require": required}, **wanted)
    except jwt.PyJWTError as error:
        raise Refused(f"the token does not hold: {error}") from error
    raise Refused("the token is signed with no key of the provider")


def fitting_keys(token: str, published: list[dict]) -> Iterator[jwt.PyJWK]:
    """Yields the published keys that can have signed the token, according to its header.

    `published`: the provider's keys as JSON Web Keys. Raises Refused for an algorithm or a key that is too weak.
    """
    header = jwt.get_unverified_header(token)
    algorithm = header.get("alg")
    if algorithm not in ALGORITHMS:
        raise Refused(f"the token is signed with {algorithm!r}, which proves nothing here")
    key_type = {"RS": "RSA", "PS": "RSA", "ES": "EC"}.get(algorithm[:2], "OKP")  # the last is of EdDSA
    needed = {"kty": key_type, "use": "sig", "alg": algorithm}
    if "kid" in header:
        needed["kid"] = header["kid"]
    for published_key in published:
        # A published key need not say its use and its algorithm: if it does not, it fits every one.
        facts = {"use": "sig", "alg": algorithm} | published_key
        if any(facts.get(name) != value for name, value in needed.items()):
            continue  # the key is of another kind
        jwk = jwt.PyJWK.from_dict(published_key, algorithm)
        if key_type == "RSA" and jwk.key.key_size < settings.OIDC_RSA_BITS:
            raise Refused(f"the provider's key has {jwk.key.key_size} bits, fewer than IDEALIST_OIDC_RSA_BITS")
        yield jwk


def with_userinfo(claims: dict, endpoints: Endpoints, access_token: str) -> dict:
    """The claims, with those that only the userinfo endpoint has. Raises Refused if it is about somebody else."""
    address = endpoints.openid_config.get("userinfo_endpoint")
    if not address:
        return claims
    userinfo = fetched(address, Authorization=f"Bearer {access_token}")
    if userinfo.get("sub") != claims["sub"]:
        raise Refused("the userinfo is of somebody else")
    for name in ("acr", "amr", "auth_time"):  # only the signed token says how the person signed in
        userinfo.pop(name, None)
    if "email" in claims:  # an address and whether it is verified belong together
        userinfo.pop("email_verified", None)
    return userinfo | claims  # of a claim that both have, the signed token's counts


def address_to_sign_out(request: HttpRequest, id_token: str) -> str:
    """The provider's address to end the session there; "" if it names none or does not answer."""
    try:
        end = Endpoints(request, PROVIDER_ID).openid_config.get("end_session_endpoint")
    except (*BROKEN_ANSWER, Refused):
        return ""
    back = request.build_absolute_uri(reverse("home"))
    params = {"id_token_hint": id_token, "client_id": settings.OIDC["client"], "post_logout_redirect_uri": back}
    return f"{end}{'&' if '?' in end else '?'}{urlencode(params)}" if end else ""


def signed_out_digests(request: HttpRequest, token: str) -> tuple[str, str]:
    """(digest of the person, digest of the session) that a logout token names; one of the two may be "".

    The provider sends the token unasked (OpenID Connect Back-Channel Logout 1.0). A token works once. Raises Away
    and Refused.
    """
    check_logout_token(token)  # for one that is obviously false the provider is not asked for its keys
    try:
        endpoints = Endpoints(request, PROVIDER_ID)
        claims = claims_of(token, keys(endpoints), endpoints.openid_config["issuer"], needed=["jti"])
    except BROKEN_ANSWER as error:
        raise Away from error
    if "nonce" in claims:
        raise Refused("the token has a nonce: it was made to sign in")
    if not isinstance(claims["events"].get(LOGOUT_EVENT), dict):  # `check_logout_token` found a dict of events
        raise Refused("the token has no event of a sign-out")
    person, session = claims.get("sub") or "", claims.get("sid") or ""
    names_something = isinstance(person, str) and isinstance(session, str) and (person or session)
    if not names_something:
        raise Refused("the token names neither a person nor a session")
    if claims["iat"] < time.time() - LOGOUT_TOKEN_SECONDS - LEEWAY:
        raise Refused("the token is old")
    # The use is remembered until the token is refused as old, by the check above. The time that it was issued at
    # (`iat`) may lie LEEWAY ahead of the clock here, hence LEEWAY twice.
    if not throttle.first_use("logout token", str(claims["jti"]), seconds=LOGOUT_TOKEN_SECONDS + 2 * LEEWAY):
        raise Refused("the token was used before")
    issuer = claims["iss"]
    return digest(issuer, person) if person else "", digest(issuer, session) if session else ""


def check_logout_token(token: str) -> None:
    """Raise Refused if this is no logout token for this server, before the provider is asked for its keys."""
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError as wrong:
        raise Refused("there is no token") from wrong
    audience = claims.get("aud")
    if settings.OIDC["client"] not in (audience if isinstance(audience, list) else [audience]):
        raise Refused("the token is for another client")
    if not isinstance(claims.get("events"), dict):
        raise Refused("the token has no event of a sign-out")
