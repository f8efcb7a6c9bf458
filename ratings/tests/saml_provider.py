"""A provider of SAML for tests: metadata over real HTTP on loopback, assertions signed with a key made here."""

import base64
import secrets
import zlib
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from django.test import Client, override_settings
from django.urls import reverse
from lxml import etree

from .identity_provider import sent_to

HERE = "http://testserver/accounts/saml/"
NAMES = {
    "samlp": "urn:oasis:names:tc:SAML:2.0:protocol",
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
}
FORMATS = "urn:oasis:names:tc:SAML:2.0:nameid-format:"
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"


@cache
def key_pair(number: int = 0, days: int = 365) -> tuple[rsa.RSAPrivateKey, bytes, x509.Certificate]:
    """A key, the same as PEM, and its certificate, which ends in so many days."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"provider {number}")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(number + 1).not_valid_before(now - timedelta(days=400))
    certificate = made.not_valid_after(now + timedelta(days=days)).sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.TraditionalOpenSSL
    pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return key, pem, certificate


def written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def soon(seconds: float) -> str:
    return written(datetime.now(UTC) + timedelta(seconds=seconds))


class SamlProvider:
    """`facts` bend what the next assertion says. None leaves one out; a function is called then."""

    def __init__(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.issuer = f"{self.address}/idp"
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.fresh()

    def fresh(self) -> None:
        self.pair, self.published, self.until, self.broken = key_pair(), [key_pair()[2]], None, False
        self.name, self.attributes, self.facts, self.posted = "anna-1", {}, {}, ""

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def settings(self, saml: dict | None = None, **more) -> override_settings:
        facts = {"metadata": f"{self.address}/metadata", "name": "Example ID", "groups": "groups"}
        facts |= {"attributes": {}, "verified": False, "unsolicited": False} | (saml or {})
        return override_settings(SAML=facts, OIDC=None, **more)

    def metadata(self) -> str:
        keys = "".join(
            f'<KeyDescriptor use="signing"><KeyInfo xmlns="{NAMES["ds"]}"><X509Data><X509Certificate>'
            f"{base64.b64encode(each.public_bytes(serialization.Encoding.DER)).decode()}"
            "</X509Certificate></X509Data></KeyInfo></KeyDescriptor>"
            for each in self.published
        )
        binding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
        until = f' validUntil="{self.until}"' if self.until else ""
        return (
            f'<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="{self.issuer}"{until}>'
            f'<IDPSSODescriptor protocolSupportEnumeration="{NAMES["samlp"]}">{keys}'
            f'<SingleLogoutService Binding="{binding}" Location="{self.address}/slo"/>'
            f'<SingleSignOnService Binding="{binding}" Location="{self.address}/sso"/>'
            "</IDPSSODescriptor></EntityDescriptor>"
        )

    def answer_xml(self, asked: str | None) -> str:
        """An answer that is not signed yet."""
        facts = {
            "id": "_" + secrets.token_hex(16),
            "issuer": self.issuer,
            "destination": HERE,
            "recipient": HERE,
            "audience": HERE + "metadata/",
            "asked": asked,
            "around": asked,
            "begins": soon(-60),
            "ends": soon(300),
            "confirmed_until": soon(300),
            "method": "urn:oasis:names:tc:SAML:2.0:cm:bearer",
            "format": FORMATS + "persistent",
            "session": "s-1",
            "status": "Success",
        } | {name: fact() if callable(fact) else fact for name, fact in self.facts.items()}
        said = {name: value for name, value in facts.items() if value is not None}

        def attribute(name: str, fact: str) -> str:
            return f' {name}="{said[fact]}"' if fact in said else ""

        audience = f"<saml:Audience>{said.get('audience')}</saml:Audience>"
        audiences = (
            f"<saml:AudienceRestriction>{audience}</saml:AudienceRestriction>" if "audience" in said else ""
        )
        values = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in listed)
            + "</saml:Attribute>"
            for name, listed in self.attributes.items()
        )
        statement = f"<saml:AttributeStatement>{values}</saml:AttributeStatement>" if values else ""
        now, outer = soon(0), "_r" + secrets.token_hex(8)
        status = f"urn:oasis:names:tc:SAML:2.0:status:{said['status']}"
        return (
            f'<samlp:Response xmlns:samlp="{NAMES["samlp"]}" xmlns:saml="{NAMES["saml"]}" ID="{outer}"'
            f' Version="2.0" IssueInstant="{now}"{attribute("Destination", "destination")}'
            f"{attribute('InResponseTo', 'around')}><saml:Issuer>{self.issuer}</saml:Issuer>"
            f'<samlp:Status><samlp:StatusCode Value="{status}"/></samlp:Status>'
            f'<saml:Assertion ID="{said["id"]}" Version="2.0" IssueInstant="{now}">'
            f"<saml:Issuer>{said['issuer']}</saml:Issuer><saml:Subject>"
            f'<saml:NameID Format="{said["format"]}">{self.name}</saml:NameID>'
            f'<saml:SubjectConfirmation Method="{said["method"]}"><saml:SubjectConfirmationData'
            f"{attribute('NotOnOrAfter', 'confirmed_until')}{attribute('Recipient', 'recipient')}"
            f"{attribute('InResponseTo', 'asked')}/></saml:SubjectConfirmation></saml:Subject>"
            f"<saml:Conditions{attribute('NotBefore', 'begins')}{attribute('NotOnOrAfter', 'ends')}>{audiences}"
            f'</saml:Conditions><saml:AuthnStatement AuthnInstant="{now}"{attribute("SessionIndex", "session")}>'
            "<saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password"
            f"</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>{statement}"
            "</saml:Assertion></samlp:Response>"
        )

    def signed(
        self, text: str, *paths: str, algorithm=xmlsec.Transform.RSA_SHA256, uri: str | None = None, key=None
    ):
        """The answer as a tree, in which the elements of these paths are signed, one after the other."""
        root = etree.fromstring(text)
        for path in paths or ["saml:Assertion"]:
            element = root if path == "." else root.find(path, NAMES)
            signature = xmlsec.template.create(element, xmlsec.Transform.EXCL_C14N, algorithm, ns="ds")
            element.insert(1, signature)
            digest = xmlsec.Transform.SHA1 if algorithm == xmlsec.Transform.RSA_SHA1 else xmlsec.Transform.SHA256
            reference = xmlsec.template.add_reference(
                signature, digest, uri=f"#{element.get('ID')}" if uri is None else uri
            )
            xmlsec.template.add_transform(reference, xmlsec.Transform.ENVELOPED)
            xmlsec.template.add_transform(reference, xmlsec.Transform.EXCL_C14N)
            xmlsec.tree.add_ids(element, ["ID"])
            context = xmlsec.SignatureContext()
            context.key = key or xmlsec.Key.from_memory(self.pair[1], xmlsec.KeyFormat.PEM, None)
            context.sign(signature)
        return etree.fromstring(etree.tostring(root))  # lxml finds not all that xmlsec has added

    def answer(self, address: str) -> str:
        """What the browser posts after a sign-in as `name`, where it came with this address."""
        return encoded(self.signed(self.answer_xml(asked_in(address))))

    def form(self, address: str) -> str:
        """The page that posts the answer to `posted`, the address of this server, by itself."""
        self.facts = {"destination": self.posted, "recipient": self.posted, "audience": f"{self.posted}metadata/"}
        field = f'<input type="hidden" name="SAMLResponse" value="{self.answer(address)}">'
        form = f'<form method="post" action="{self.posted}">{field}</form>'
        return f"<title>Example ID</title>{form}<script>document.forms[0].submit()</script>"

    def request_to_sign_out(self, pair=None, algorithm: str = RSA_SHA256, **bent) -> str:
        """The query with which the provider ends sessions: of its person, and of `session`."""
        facts = {"id": "_" + secrets.token_hex(16), "issuer": self.issuer, "at": soon(0), "until": soon(300)}
        facts |= {"destination": HERE + "sign-out/", "name": self.name, "session": None} | bent
        session = f"<samlp:SessionIndex>{facts['session']}</samlp:SessionIndex>" if facts["session"] else ""
        destination = f' Destination="{facts["destination"]}"' if facts["destination"] else ""
        issuer = f"<saml:Issuer>{facts['issuer']}</saml:Issuer>" if facts["issuer"] else ""
        text = (
            f'<samlp:LogoutRequest xmlns:samlp="{NAMES["samlp"]}" xmlns:saml="{NAMES["saml"]}" ID="{facts["id"]}"'
            f' Version="2.0" IssueInstant="{facts["at"]}" NotOnOrAfter="{facts["until"]}"{destination}>'
            f'{issuer}<saml:NameID Format="{FORMATS}persistent">{facts["name"]}</saml:NameID>{session}'
            "</samlp:LogoutRequest>"
        )
        squeezed = zlib.compress(text.encode())[2:-4]
        query = urlencode({"SAMLRequest": base64.b64encode(squeezed), "RelayState": "r", "SigAlg": algorithm})
        key = (pair or self.pair)[0]
        signature = key.sign(query.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{query}&Signature={quote(base64.b64encode(signature), safe='')}"


def request_in(address: str):
    """The request in an address of the provider."""
    packed = base64.b64decode(parse_qs(urlsplit(address).query)["SAMLRequest"][0])
    return etree.fromstring(zlib.decompress(packed, -15))


def asked_in(address: str) -> str:
    return request_in(address).get("ID")


def credulous(root, certificate: x509.Certificate) -> str | None:
    """The first name in an answer with any good signature of this key: how servers were deceived."""
    root = etree.fromstring(etree.tostring(root))
    xmlsec.tree.add_ids(root, ["ID"])
    context = xmlsec.SignatureContext()
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    context.key = xmlsec.Key.from_memory(pem, xmlsec.KeyFormat.CERT_PEM, None)
    try:
        context.verify(root.find(".//ds:Signature", NAMES))
    except xmlsec.Error:
        return None
    return root.find(".//saml:NameID", NAMES).text


def encoded(root) -> str:
    return base64.b64encode(etree.tostring(root)).decode()


def posted(client: Client, answer: str, **more):
    """The answer of this server to what the browser posts, and after the redirect, where there is one.

    Without the cookies of the first request: it comes from another site.
    """
    response = Client(enforce_csrf_checks=True).post(reverse("saml_assertion"), {"SAMLResponse": answer}, **more)
    return client.get(response["Location"], **more) if response.status_code == 303 else response


def came_back(client: Client, provider: SamlProvider, **sent):
    """The answer to the browser that went to the provider, signed in there and came back."""
    return posted(client, provider.answer(sent_to(client, **sent)))


def handler_of(provider: SamlProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if provider.broken:
                status, kind, text = 500, "text/plain", "broken"
            elif path == "/metadata":
                status, kind, text = 200, "application/samlmetadata+xml", provider.metadata()
            elif path == "/sso":
                status, kind, text = 200, "text/html", provider.form(self.path) if provider.posted else ""
            else:
                status, kind, text = 200, "text/html", "<title>Example ID</title>"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args) -> None:
            pass

    return Handler
