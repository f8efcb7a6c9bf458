"""A provider of OpenID Connect for tests: real HTTP on loopback, and tokens signed with a key made here."""

import base64
import hashlib
import json
import re
import secrets
import time
from functools import cached_property
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client, override_settings
from django.urls import reverse

CLIENT, SECRET = "idealist", "a secret of the provider"
SIGN_OUT = "http://schemas.openid.net/event/backchannel-logout"


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class IdentityProvider:
    """Give each test its own `person`. `claims` and the other attributes bend what the next token says."""

    def __init__(self) -> None:
        self.key, self.kid = new_key(), "one"
        self.person: dict = {}
        self.claims: dict = {}
        self.algorithm = "RS256"
        self.sign_with: object = None  # in place of the key
        self.userinfo: dict | None = None
        self.discovery: dict = {}
        self.codes: dict[str, dict] = {}
        self.broken = ""  # the path that answers 500
        self.moved = ""  # the path that leads elsewhere
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.issuer = f"http://127.0.0.1:{self.server.server_port}/realm"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def settings(self, **more) -> override_settings:
        facts = {"issuer": self.issuer, "client": CLIENT, "secret": SECRET, "name": "Example ID"}
        facts |= {"scopes": ["openid", "email"], "groups_claim": "groups"}
        return override_settings(OIDC=facts, **more)

    @cached_property
    def public_pem(self) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.key.public_key().public_bytes(serialization.Encoding.PEM, form)

    def answer(self, path: str, asked: dict, headers) -> dict:
        if path.endswith("/.well-known/openid-configuration"):
            ends = ("authorization", "token", "userinfo", "end_session")
            found = {f"{name}_endpoint": f"{self.issuer}/{name}" for name in ends}
            if self.userinfo is None:
                del found["userinfo_endpoint"]
            return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"} | found | self.discovery
        if path.endswith("/keys"):
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            return {"keys": [public | {"kid": self.kid, "use": "sig"}]}
        if path.endswith("/userinfo"):
            return self.userinfo
        if path.endswith(("/end_session", "/favicon.ico")):
            return {}
        if path.endswith("/token"):
            return self.tokens(asked)
        raise KeyError(path)

    def tokens(self, asked: dict) -> dict:
        """The tokens for a code. It works once, and with the verifier of PKCE alone."""
        code = self.codes.pop(asked["code"])
        hashed = hashlib.sha256(asked["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() == code["code_challenge"]
        assert asked["client_secret"] == SECRET and asked["redirect_uri"] == code["redirect_uri"]
        return {"access_token": "access", "token_type": "Bearer", "id_token": self.id_token(code["nonce"])}

    def id_token(self, nonce: str) -> str:
        now = int(time.time())
        facts = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, "auth_time": now}
        claims = {name: value for name, value in (facts | self.person | self.claims).items() if value is not None}
        return self.sign(claims)

    def sign(self, claims: dict) -> str:
        if self.algorithm == "HS256":
            return signed_by_hand(claims, self.kid, self.public_pem)
        key = None if self.algorithm == "none" else self.sign_with or self.key
        return jwt.encode(claims, key, self.algorithm, headers={"kid": self.kid})

    def logout_token(self, **claims) -> str:
        """A token that ends sessions; a claim that is None is left out."""
        now = int(time.time())
        facts = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 120, "jti": secrets.token_hex(8)}
        facts |= {"events": {SIGN_OUT: {}}, "sub": self.person["sub"]}
        claims = {name: value for name, value in (facts | claims).items() if value is not None}
        return self.sign(claims)

    def authorize(self, address: str) -> str:
        """The address to which the provider sends the browser back, signed in as `person`."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"]})


def signed_by_hand(claims: dict, kid: str, secret: bytes) -> str:
    """A token signed with HS256 and any bytes; PyJWT refuses to take a public key for that."""
    import hmac

    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT", "kid": kid}, claims)]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = base64.urlsafe_b64encode(hmac.new(secret, text, hashlib.sha256).digest()).rstrip(b"=")
    return (text + b"." + signature).decode()


def handler_of(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.reply({name: values[0] for name, values in parse_qs(body).items()})

        def reply(self, asked: dict) -> None:
            address = urlsplit(self.path)
            if address.path.endswith("/authorization"):
                self.send_response(302)
                self.send_header("Location", provider.authorize(self.path))
                self.end_headers()
                return
            if provider.moved and address.path.endswith(provider.moved) and not address.query:
                self.send_response(307)
                self.send_header("Location", f"{provider.issuer}{address.path}?again")
                self.end_headers()
                return
            try:
                if provider.broken and address.path.endswith(provider.broken):
                    raise KeyError
                status, said = 200, provider.answer(address.path, asked, self.headers)
            except (KeyError, AssertionError):
                status, said = 400, {"error": "invalid"}
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args) -> None:
            pass

    return Handler


def sent_to(client: Client, **sent) -> str:
    """The address of the provider to which the button leads."""
    page = client.post(reverse("provider"), sent)
    assert page.status_code == 200, page.content.decode()
    return unescape(re.search(r'url=([^"]+)"', page.content.decode())[1])


def came_back(client: Client, provider: IdentityProvider, **sent):
    """The answer to the browser that went to the provider, signed in there and came back."""
    return client.get(provider.authorize(sent_to(client, **sent)))


def who(client: Client) -> str:
    """The name of the account that is signed in; "" if none is."""
    return client.get(reverse("session")).json()["name"]


def fresh(provider: IdentityProvider, person: dict) -> None:
    """Make the provider as it was at first, with this person."""
    provider.person, provider.claims, provider.algorithm, provider.sign_with = person, {}, "RS256", None
    provider.userinfo, provider.discovery, provider.broken, provider.moved = None, {}, "", ""
