"""Sign-in at a provider of SAML 2.0: its browser profile, with a request by redirect and an answer by form.

python3-saml reads the provider's metadata, validates schemas and verifies signatures; allauth maps attributes to
fields. Neither remembers an assertion, ties it to a browser, or requires it to state its audience, recipient and
expiry. This module closes each of these gaps.

An answer comes from another site, so the browser sends no cookie with it. Its content is kept for a minute under a
random key, and the browser is redirected to a page of this site, where its cookie shows that it sent the request.

Needs requirements-saml.lock: config/sign_in.py refuses the settings without it.
"""

import json
import secrets
import time
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import requests
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from cryptography import x509
from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import salted_hmac

from ..people import throttle
from .person import Away, Person, Refused, digest

if TYPE_CHECKING:
    from onelogin.saml2.auth import OneLogin_Saml2_Auth

ID = "saml"
LEEWAY = 60  # seconds by which clocks may differ
KEPT = 60  # seconds between the answer and the page to which it redirects
LATEST = 600  # seconds after which a request to sign out is too old
LONGEST = 86_400  # seconds for which an assertion may be valid, and is remembered
SAML, BEARER = "urn:oasis:names:tc:SAML:2.0:", "urn:oasis:names:tc:SAML:2.0:cm:bearer"
NAMES = {
    "samlp": SAML + "protocol",
    "saml": SAML + "assertion",
    "md": SAML + "metadata",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
}
C14N = "http://www.w3.org/2001/10/xml-exc-c14n#"
TRANSFORMS = {NAMES["ds"] + "enveloped-signature", C14N, C14N + "WithComments"}
TRANSIENT = SAML + "nameid-format:transient"


class Metadata(NamedTuple):
    """The provider's metadata."""

    idp: dict  # as python3-saml has it
    ends: datetime | None
    certificates: list[x509.Certificate]


def metadata() -> Metadata:
    """The provider's metadata. Raises Away if it cannot be fetched, and Refused if it cannot be used."""
    from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

    try:
        root = OneLogin_Saml2_XML.to_etree(metadata_text())
    except (requests.RequestException, OSError) as error:
        raise Away from error
    except (ValueError, SyntaxError) as error:  # lxml raises SyntaxError
        raise Refused(f"the provider's metadata is no XML: {error}") from error
    if len(root.xpath("//md:IDPSSODescriptor", namespaces=NAMES)) != 1:
        raise Refused("the provider's metadata does not describe one provider")
    idp = OneLogin_Saml2_IdPMetadataParser.parse(root).get("idp", {})
    signing = idp.pop("x509certMulti", {}).get("signing") or [idp.pop("x509cert", None)]
    for name in ("singleSignOnService", "singleLogoutService"):
        if not is_safe(idp.get(name, {}).get("url", "")):
            idp.pop(name, None)
    if not idp.get("entityId") or "singleSignOnService" not in idp or not all(signing):
        raise Refused(
            "the provider's metadata lacks a name, a certificate to sign, or an HTTPS address for redirects"
        )
    try:
        certificates = [x509.load_der_x509_certificate(b64decode(each)) for each in signing]
        ends = min(map(moment, root.xpath("//md:*/@validUntil", namespaces=NAMES)), default=None)
    except ValueError as error:
        raise Refused(f"the provider's metadata cannot be read: {error}") from error
    if ends and ends < datetime.now(UTC):
        raise Refused(f"the provider's metadata held until {ends:%Y-%m-%d}")
    return Metadata(idp | {"x509certMulti": {"signing": signing}}, ends, certificates)


def metadata_text() -> bytes:
    place = settings.SAML["metadata"]
    if "://" not in place:
        return Path(place).read_bytes()
    with get_adapter().get_requests_session() as session:
        answer = session.get(place)
    answer.raise_for_status()
    return answer.content


def is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    )


def moment(text: str) -> datetime:
    """The time of an attribute, which SAML writes in UTC."""
    read = datetime.fromisoformat(text.strip())
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


def toolkit_settings(request: HttpRequest, idp: dict | None = None) -> dict:
    """The settings of python3-saml: this server, and the provider."""
    address = request.build_absolute_uri
    security = {
        # Without a signature of its own an assertion could stand elsewhere in the answer than where it is read.
        "wantAssertionsSigned": True,
        "rejectDeprecatedAlgorithm": True,
        "requestedAuthnContext": False,
        "wantAttributeStatement": False,
        "allowRepeatAttributeName": True,
        "allowSingleLabelDomains": True,
        "metadataValidUntil": "",
        "metadataCacheDuration": "",
    }
    redirect, post = SAML + "bindings:HTTP-Redirect", SAML + "bindings:HTTP-POST"
    sp = {
        "entityId": address(reverse("saml_metadata")),
        "assertionConsumerService": {"url": address(reverse("saml_assertion")), "binding": post},
        "singleLogoutService": {"url": address(reverse("saml_sign_out")), "binding": redirect},
        "NameIDFormat": "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
    }
    return {"strict": True, "debug": False, "security": security, "sp": sp} | ({"idp": idp} if idp else {})


def toolkit(request: HttpRequest) -> "OneLogin_Saml2_Auth":
    """python3-saml for this request. Raises Away and Refused."""
    from onelogin.saml2.auth import OneLogin_Saml2_Auth
    from onelogin.saml2.errors import OneLogin_Saml2_Error

    facts = {
        "https": "on" if request.is_secure() else "off",
        "http_host": request.get_host(),
        "script_name": request.META.get("SCRIPT_NAME", ""),
        "path_info": request.path_info,
        "get_data": request.GET.dict(),
        "post_data": request.POST.dict(),
        "query_string": request.META.get("QUERY_STRING", ""),
        "validate_signature_from_qs": True,
    }
    try:
        return OneLogin_Saml2_Auth(facts, toolkit_settings(request, metadata().idp))
    except OneLogin_Saml2_Error as error:
        raise Refused(f"the provider's metadata cannot be used: {error}") from error


def own_metadata(request: HttpRequest) -> bytes:
    """The metadata of this server, which the operator gives to the provider."""
    from onelogin.saml2.settings import OneLogin_Saml2_Settings

    return OneLogin_Saml2_Settings(toolkit_settings(request), sp_validation_only=True).get_sp_metadata()


def address_to_sign_in(request: HttpRequest, next_page: str) -> str:
    """The provider's address to send the visitor to. Raises Away and Refused."""
    auth = toolkit(request)
    # A person who is already signed in must show again who they are, so the provider must ask.
    address = auth.login(return_to="", force_authn=request.user.is_authenticated)
    statekit.stash_state(request, provider_id=ID, state_id=auth.get_last_request_id(), state={"next": next_page})
    return address


# The answer


def store_answer(request: HttpRequest) -> str:
    """Keep the person of this answer for a minute, and return the key. Raises Away and Refused."""
    auth = toolkit(request)
    assertion = verified(auth, request)
    issuer, request_id = auth.get_settings().get_idp_data()["entityId"], in_response_to(assertion)
    if not request_id and not settings.SAML["unsolicited"]:
        raise Refused("nobody asked for the answer: the provider began by itself")
    valid_for = holds_for(assertion, request.build_absolute_uri(reverse("saml_assertion")))
    if not throttle.first_use("assertion", digest(issuer, assertion.get("ID")), valid_for + 2 * LEEWAY):
        raise Refused("the assertion was used before")
    key = secrets.token_urlsafe(24)
    caches["tries"].set(cache_key(key), (request_id, facts_of(request, auth, issuer)), timeout=KEPT)
    return key


def cache_key(key: str) -> str:
    return f"saml:{salted_hmac(__name__, key, algorithm='sha256').hexdigest()}"


def verified(auth: "OneLogin_Saml2_Auth", request: HttpRequest):
    """The only assertion of the answer, signed by the provider. Raises Refused."""
    from onelogin.saml2.response import OneLogin_Saml2_Response

    try:
        # The structure comes first, because the toolkit reads parts before it verifies them.
        root = OneLogin_Saml2_Response(auth.get_settings(), request.POST["SAMLResponse"]).get_xml_document()
        check_structure(root)
        auth.process_response()
    except Refused:
        raise
    except Exception as error:  # what python3-saml and lxml raise over hostile XML has no common kind
        raise Refused(f"the answer cannot be read: {type(error).__name__}: {error}"[:200]) from error
    if auth.get_errors() or not auth.is_authenticated():
        raise Refused(f"the answer does not hold: {auth.get_last_error_reason()}"[:200])
    (assertion,) = root.xpath("/samlp:Response/saml:Assertion", namespaces=NAMES)
    if assertion.get("ID") != auth.get_last_assertion_id():
        raise Refused("the answer has another assertion than the one that is signed")
    return assertion


def check_structure(root) -> None:
    """Raise Refused if the signed part of the answer could be another one than the part that is read."""
    named = root.xpath("//@*[local-name()='ID' or local-name()='Id' or local-name()='id']")
    if len(set(named)) < len(named):
        raise Refused("two parts of the answer have one name")
    assertions = root.xpath("//*[local-name()='Assertion' or local-name()='EncryptedAssertion']")
    if len(assertions) != 1 or assertions != root.xpath("/samlp:Response/saml:Assertion", namespaces=NAMES):
        raise Refused("the answer has not one assertion in its place")
    signatures = root.xpath("//*[local-name()='Signature']")
    for signature in signatures:
        signed = signature.getparent()
        references = signature.xpath("ds:SignedInfo/ds:Reference", namespaces=NAMES)
        if signed not in (root, assertions[0]) or [each.get("URI") for each in references] != [
            f"#{signed.get('ID')}"
        ]:
            raise Refused("a signature is of another part than the one it stands in")
        if signature.xpath(".//*[local-name()='Object' or local-name()='Manifest']"):
            raise Refused("a signature has more in it than a signature")
        used = signature.xpath(".//*[local-name()='Transform']/@Algorithm")
        if not set(used) <= TRANSFORMS:
            raise Refused("a signature is of a changed part")


def confirmations(assertion) -> Iterator:
    """The data of each bearer confirmation of the subject."""
    path = f"saml:Subject/saml:SubjectConfirmation[@Method='{BEARER}']/saml:SubjectConfirmationData"
    yield from assertion.xpath(path, namespaces=NAMES)


def in_response_to(assertion) -> str:
    """The id of the request that was answered, "" for none, by the signed assertion. Raises Refused."""
    ids = {data.get("InResponseTo", "") for data in confirmations(assertion)}
    around = assertion.getparent().get("InResponseTo", "")
    if ids != {around}:  # the attribute of the answer around the assertion may be unsigned
        raise Refused("the assertion answers another request than the answer around it")
    return around


def holds_for(assertion, here: str) -> int:
    """The seconds for which the assertion is valid. It must name recipient, audience, expiry. Raises Refused."""
    now = time.time()
    entity = here.removesuffix(reverse("saml_assertion")) + reverse("saml_metadata")
    data = list(confirmations(assertion))
    if not data or any(each.get("Recipient") != here for each in data):
        raise Refused("the assertion is for another address")
    if assertion.getparent().get("Destination", here) != here:
        raise Refused("the answer is for another address")
    audiences = assertion.xpath("saml:Conditions/saml:AudienceRestriction", namespaces=NAMES)
    named = [[text.strip() for text in each.xpath("saml:Audience/text()", namespaces=NAMES)] for each in audiences]
    if not named or not all(entity in each for each in named):
        raise Refused("the assertion is for another audience")
    try:
        begins = assertion.xpath("saml:Conditions/@NotBefore", namespaces=NAMES)
        ends = [moment(each.get("NotOnOrAfter", "")) for each in data]
        ends += map(moment, assertion.xpath("saml:Conditions/@NotOnOrAfter", namespaces=NAMES))
        begin = max((moment(text).timestamp() for text in begins), default=0)
    except ValueError as error:
        raise Refused("the assertion does not say how long it holds") from error
    left = min(ends).timestamp() - now
    if left <= -LEEWAY or begin > now + LEEWAY:
        raise Refused("the assertion holds no longer, or not yet")
    if left > LONGEST:
        raise Refused("the assertion holds for more than a day")
    return max(int(left), 0)


def facts_of(request: HttpRequest, auth: "OneLogin_Saml2_Auth", issuer: str) -> dict:
    """The arguments of Person, from the assertion. Raises Refused."""
    app = SocialApp(provider=ID, client_id=ID, settings={"attribute_mapping": mapping()})
    reader, attributes = SAMLProvider(request, app=app), auth.get_attributes()
    fields, subject, name = reader.extract_common_fields(auth), reader.extract_uid(auth), auth.get_nameid()
    if not subject or (subject == name and auth.get_nameid_format() == TRANSIENT):
        raise Refused("the provider names people anew each time: let it send a persistent name, or map uid")
    full = ".".join(filter(None, (fields.get("first_name"), fields.get("last_name"))))
    groups = (group for group in attributes.get(settings.SAML["groups"], []) if isinstance(group, str))
    session = auth.get_session_index() or ""
    is_verified = fields.get("email_verified") or settings.SAML["verified"]
    hint = [name, auth.get_nameid_format(), auth.get_nameid_nq(), auth.get_nameid_spnq(), session]
    return {
        "provider": ID,
        "issuer": issuer,
        "subject": subject,
        "name": fields.get("username") or fields.get("email") or full,
        "address": (fields.get("email") or "") if is_verified else "",
        "groups": frozenset(groups),
        "second_factor": not settings.PROVIDER_SECOND_FACTOR.isdisjoint(auth.get_last_authn_contexts()),
        "session": session and session_of(name, session),
        "signs_out_as": name or "",
        "hint": hint,
    }


def session_of(name: str | None, index: str) -> str:
    """The name of a session, with that of its person, because an index is unique only for one person."""
    return json.dumps([name, index])


def mapping() -> dict[str, list[str]]:
    """The attributes of each field: those of the settings first, then those that allauth knows."""
    return {
        field: [*settings.SAML["attributes"].get(field, []), *usual]
        for field, usual in SAMLProvider.default_attribute_mapping.items()
    }


def person_of(request: HttpRequest, key: str) -> Person:
    """The person whom the provider sent back to this browser. Each key works once. Raises Refused."""
    name = cache_key(key)
    request_id, facts = caches["tries"].get(name) or ("", None)
    if facts is None or not caches["tries"].delete(name):  # of two at once one deletes it
        raise Refused("the answer is unknown, used or old")
    state = statekit.unstash_state(request, provider_id=ID, state_id=request_id) if request_id else {}
    if state is None:
        raise Refused("the answer is to a request that this browser did not send, or was used, or is old")
    return Person(**facts, next=state.get("next", ""))


# Sign-out


def address_to_sign_out(request: HttpRequest, hint: list) -> str:
    """The provider's address to end the session there; "" if it names none or does not answer."""
    try:
        auth = toolkit(request)
    except (Away, Refused):
        return ""
    name, kind, qualifier, of_server, session = hint
    if not auth.get_slo_url() or not name:
        return ""
    return auth.logout(
        return_to="",
        name_id=name,
        name_id_format=kind,
        nq=qualifier,
        spnq=of_server,
        session_index=escape(session),  # python3-saml puts it into the XML unescaped
    )


def signed_out(request: HttpRequest) -> tuple[list[tuple[str, str]], str]:
    """The digests of person and session of each sign-out, and the address to answer. Raises Away and Refused."""
    from onelogin.saml2.logout_request import OneLogin_Saml2_Logout_Request as LogoutRequest
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

    auth = toolkit(request)
    if any(len(values) != 1 for _, values in request.GET.lists()) or not request.GET.get("Signature"):
        raise Refused("the request to sign out is not signed")
    try:
        answer = auth.process_slo(keep_local_session=True)
        text = auth.get_last_request_xml()
        root = OneLogin_Saml2_XML.to_etree(text)
        issuer, issued = LogoutRequest.get_issuer(root), moment(root.get("IssueInstant")).timestamp()
        name, indexes = LogoutRequest.get_nameid(root), LogoutRequest.get_session_indexes(root)
    except Exception as error:  # as in verified()
        raise Refused(f"the request cannot be read: {type(error).__name__}: {error}"[:200]) from error
    if auth.get_errors():
        raise Refused(f"the request does not hold: {auth.get_last_error_reason() or auth.get_errors()}"[:200])
    here = request.build_absolute_uri(reverse("saml_sign_out"))
    if issuer != auth.get_settings().get_idp_data()["entityId"] or root.get("Destination") != here:
        raise Refused("the request is of another provider, or for another address")
    if abs(time.time() - issued) > LATEST + LEEWAY:
        raise Refused("the request is old")
    if not throttle.first_use("request to sign out", digest(issuer, root.get("ID")), LATEST + 2 * LEEWAY):
        raise Refused("the request was used before")
    who = digest(issuer, name)
    ended = [(who, digest(issuer, session_of(name, index))) for index in indexes] or [(who, "")]
    return ended, answer or reverse("home")
