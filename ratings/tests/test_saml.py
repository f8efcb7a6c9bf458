"""Sign-in by SAML: who is let in, and every answer that is refused beside its twin that is not."""

import base64
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial

import pytest
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.serialization import Encoding
from django.contrib.auth import get_user_model
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from config.health import services
from ratings.models import AuditEvent, Membership, Session
from ratings.people import throttle
from ratings.sign_in import saml
from ratings.sign_in.saml import moment

from . import clocks
from .cast import make_collection, make_user
from .identity_provider import sent_to

pytest.importorskip("xmlsec", reason="SAML is not installed: pip install -r requirements-saml.lock")
import xmlsec
from lxml import etree

from .saml_provider import (
    FORMATS,
    HERE,
    NAMES,
    SamlProvider,
    asked_in,
    came_back,
    credulous,
    encoded,
    key_pair,
    posted,
    request_in,
    soon,
)

# Nothing here depends on which database it is.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ANNA = {"http://schemas.auth0.com/nickname": ["anna"]}
MAIL = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"
VERIFIED = "http://schemas.auth0.com/email_verified"


@pytest.fixture(scope="module")
def one():
    provider = SamlProvider()
    yield provider
    provider.close()


@pytest.fixture
def provider(one, monkeypatch):
    clocks.stopped(monkeypatch, 1_000_000)
    one.fresh()
    one.attributes = dict(ANNA)
    with one.settings():
        yield one


def who(client: Client) -> str:
    return client.get(reverse("session")).json()["name"]


def nobody_came_in(client: Client) -> bool:
    return who(client) == "" and not get_user_model().objects.exists()


def test_the_right_answer_signs_in_and_leads_to_the_page_that_was_asked_for(provider):
    client = Client()
    response = came_back(client, provider, next="/accounts/tokens/")
    assert (response.status_code, response.url) == (302, "/accounts/tokens/")
    assert who(client) == "anna"
    assert AuditEvent.objects.get(act="signed_in").detail == {"ways": ["provider"]}


def test_the_addresses_that_operators_write_at_their_provider_are_these(provider):
    """They never change."""
    root = etree.fromstring(Client().get("/accounts/saml/metadata/").content)
    assert root.get("entityID") == "http://testserver/accounts/saml/metadata/"
    names = {"md": "urn:oasis:names:tc:SAML:2.0:metadata"}
    (answers,) = root.findall(".//md:AssertionConsumerService", names)
    (outs,) = root.findall(".//md:SingleLogoutService", names)
    assert answers.get("Location") == "http://testserver/accounts/saml/" and answers.get("Binding").endswith(
        "POST"
    )
    assert outs.get("Location") == "http://testserver/accounts/saml/sign-out/"
    assert root.find("md:SPSSODescriptor", names).get("WantAssertionsSigned") == "true"


def test_who_is_signed_in_shows_again_who_they_are(provider):
    client = Client()
    came_back(client, provider)
    assert request_in(sent_to(client)).get("ForceAuthn") == "true"
    assert request_in(sent_to(Client())).get("ForceAuthn") is None


# Times are of the moment of a test, which may be half an hour after this file is read.
WRONG = {
    "expired conditions": {"ends": partial(soon, -7200)},
    "expired for its bearer": {"confirmed_until": partial(soon, -7200)},
    "three minutes late": {"ends": partial(soon, -180), "confirmed_until": partial(soon, 300)},
    "no end for its bearer": {"confirmed_until": None},
    "of tomorrow": {
        "begins": partial(soon, 7200),
        "ends": partial(soon, 7500),
        "confirmed_until": partial(soon, 7500),
    },
    "three minutes early": {"begins": partial(soon, 400)},
    "for a month": {"ends": partial(soon, 30 * 86_400), "confirmed_until": partial(soon, 30 * 86_400)},
    "another audience": {"audience": "https://another.example.org/"},
    "no audience": {"audience": None},
    "an audience that begins as ours": {"audience": HERE + "metadata/more"},
    "another recipient": {"recipient": "https://another.example.org/accounts/saml/"},
    "a recipient in which ours stands": {"recipient": "https://another.example.org/?" + HERE},
    "no recipient": {"recipient": None},
    "another destination": {"destination": "https://another.example.org/accounts/saml/"},
    "a destination that begins as ours": {"destination": HERE + "more"},
    "another issuer": {"issuer": "https://id.example.net/idp"},
    "not for the bearer": {"method": "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"},
    "to another request": {"asked": "_another"},
    "to another request, inside and around": {"asked": "_another", "around": "_another"},
    "to no request inside": {"asked": None},
    "to no request around": {"around": None},
    "to nobody": {"asked": None, "around": None},
    "failed there": {"status": "Responder"},
    "a name that changes": {"format": FORMATS + "transient"},
}
RIGHT = {
    "half a minute late": {"ends": partial(soon, 60)},
    "no destination": {"destination": None},
    "no beginning": {"begins": None},
    "no session": {"session": None},
    "an address as a name": {"format": "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"},
}


@pytest.mark.parametrize("facts", WRONG.values(), ids=WRONG)
def test_a_wrong_answer_lets_nobody_in(provider, facts):
    client = Client()
    address = sent_to(client)
    provider.facts = facts
    assert posted(client, provider.answer(address)).status_code == 403
    assert nobody_came_in(client)
    assert AuditEvent.objects.get(act="sign_in.refused").about == "an unknown name"


@pytest.mark.parametrize("facts", RIGHT.values(), ids=RIGHT)
def test_the_right_one_lets_in(provider, facts):
    client = Client()
    provider.facts = facts
    assert came_back(client, provider).status_code == 302
    assert who(client) == "anna"


BY_PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:Password"


@pytest.mark.parametrize(
    ("named", "counts"), [({BY_PASSWORD}, True), ({BY_PASSWORD + "X"}, False), (set(), False)]
)
def test_a_second_factor_at_the_provider_counts_where_its_assertion_says_so(provider, settings, named, counts):
    settings.PROVIDER_SECOND_FACTOR = frozenset(named)
    client = Client()
    came_back(client, provider)
    (record,) = client.session["account_authentication_methods"]
    assert record["second_factor"] is counts


# Signatures


def answer_of(provider: SamlProvider, client: Client, *paths: str, **how):
    """A signed answer as a tree, to be bent."""
    return provider.signed(provider.answer_xml(asked_in(sent_to(client))), *paths, **how)


def test_answer_and_assertion_may_both_be_signed(provider):
    client = Client()
    assert posted(client, encoded(answer_of(provider, client, "saml:Assertion", "."))).status_code == 302
    assert who(client) == "anna"


def test_a_second_published_key_signs_too(provider):
    client = Client()
    provider.published, provider.pair = [key_pair()[2], key_pair(1)[2]], key_pair(1)
    assert posted(client, encoded(answer_of(provider, client))).status_code == 302


def unsigned(provider, client):
    return etree.fromstring(provider.answer_xml(asked_in(sent_to(client))))


def by_another_key(provider, client):
    provider.pair = key_pair(1)
    return answer_of(provider, client)


def only_around(provider, client):
    return answer_of(provider, client, ".")


def by_sha1(provider, client):
    return answer_of(provider, client, algorithm=xmlsec.Transform.RSA_SHA1)


def of_no_part(provider, client):
    """A reference "", which is the whole document, wherever it is."""
    return answer_of(provider, client, uri="")


def changed_name(provider, client):
    root = answer_of(provider, client)
    root.find(".//saml:NameID", NAMES).text = "root"
    return root


def changed_group(provider, client):
    provider.attributes["groups"] = ["raters"]
    root = answer_of(provider, client)
    root.findall(".//saml:AttributeValue", NAMES)[-1].text = "it"
    return root


def signature_taken_out(provider, client):
    root = answer_of(provider, client)
    signature = root.find(".//ds:Signature", NAMES)
    signature.getparent().remove(signature)
    return root


def signature_of_the_key_beside_it(provider, client):
    """Signed by a key whose certificate stands in the signature itself."""
    provider.pair = key_pair(1)
    root = answer_of(provider, client)
    signature = root.find(".//ds:Signature", NAMES)
    info = etree.SubElement(signature, f"{{{NAMES['ds']}}}KeyInfo")
    data = etree.SubElement(info, f"{{{NAMES['ds']}}}X509Data")
    certificate = base64.b64encode(key_pair(1)[2].public_bytes(Encoding.DER)).decode()
    etree.SubElement(data, f"{{{NAMES['ds']}}}X509Certificate").text = certificate
    return root


def by_the_certificate_as_a_secret(provider, client):
    for form in (provider.pair[2].public_bytes(Encoding.PEM), provider.pair[2].public_bytes(Encoding.DER)):
        key = xmlsec.Key.from_binary_data(xmlsec.KeyData.HMAC, form)
        root = answer_of(provider, client, algorithm=xmlsec.Transform.HMAC_SHA256, key=key)
        posted(client, encoded(root))
    return root


FORGED = [
    by_the_certificate_as_a_secret,
    unsigned,
    by_another_key,
    only_around,
    by_sha1,
    of_no_part,
    changed_name,
    changed_group,
    signature_taken_out,
    signature_of_the_key_beside_it,
]


@pytest.mark.parametrize("forged", FORGED, ids=lambda each: each.__name__)
def test_a_forged_answer_lets_nobody_in(provider, forged):
    client = Client()
    assert posted(client, encoded(forged(provider, client))).status_code == 403
    assert nobody_came_in(client)


# Wrapping: what is signed stays in the answer, and what is read is another part.


def forged_assertion(root):
    """A copy of the assertion that says another name, without a signature."""
    forged = deepcopy(root.find("saml:Assertion", NAMES))
    forged.remove(forged.find("ds:Signature", NAMES))
    forged.find(".//saml:NameID", NAMES).text = "root"
    forged.set("ID", "_forged")
    return forged


def xsw1(root):
    """The signed answer inside the signature of a forged one."""
    original = deepcopy(root)
    signature = root.find("ds:Signature", NAMES)
    root.set("ID", "_forged")
    root.find(".//saml:NameID", NAMES).text = "root"
    inner = original.find("ds:Signature", NAMES)
    original.remove(inner)
    signature.append(original)


def xsw2(root):
    """The signed answer before the signature, which is detached."""
    original = deepcopy(root)
    original.remove(original.find("ds:Signature", NAMES))
    root.set("ID", "_forged")
    root.find(".//saml:NameID", NAMES).text = "root"
    root.insert(1, original)


def xsw3(root):
    """A forged assertion before the signed one."""
    root.insert(list(root).index(root.find("saml:Assertion", NAMES)), forged_assertion(root))


def after(root):
    """A forged assertion behind the signed one."""
    root.append(forged_assertion(root))


def xsw4(root):
    """The signed assertion inside a forged one."""
    original, forged = root.find("saml:Assertion", NAMES), forged_assertion(root)
    root.replace(original, forged)
    forged.append(original)


def xsw5(root):
    """The forged assertion has the signature, and the signed one lies behind it."""
    original = root.find("saml:Assertion", NAMES)
    signed = deepcopy(original)
    signed.remove(signed.find("ds:Signature", NAMES))
    original.set("ID", "_forged")
    original.find(".//saml:NameID", NAMES).text = "root"
    root.append(signed)


def xsw6(root):
    """The same, with the signed one inside the signature."""
    original = root.find("saml:Assertion", NAMES)
    signed = deepcopy(original)
    signed.remove(signed.find("ds:Signature", NAMES))
    original.set("ID", "_forged")
    original.find(".//saml:NameID", NAMES).text = "root"
    original.find("ds:Signature", NAMES).append(signed)


def xsw7(root):
    """A forged assertion in the extensions."""
    extensions = etree.Element(f"{{{NAMES['samlp']}}}Extensions")
    extensions.append(forged_assertion(root))
    root.insert(1, extensions)


def xsw8(root):
    """The signed assertion in an object of the signature of a forged one."""
    original = root.find("saml:Assertion", NAMES)
    signed = deepcopy(original)
    signed.remove(signed.find("ds:Signature", NAMES))
    original.set("ID", "_forged")
    original.find(".//saml:NameID", NAMES).text = "root"
    holder = etree.SubElement(original.find("ds:Signature", NAMES), f"{{{NAMES['ds']}}}Object")
    holder.append(signed)


def one_name_for_two(root):
    """The forged assertion has the name of the signed one, which lies in the extensions."""
    original, forged = root.find("saml:Assertion", NAMES), forged_assertion(root)
    forged.set("ID", original.get("ID"))
    forged.insert(1, deepcopy(original.find("ds:Signature", NAMES)))
    root.replace(original, forged)
    extensions = etree.Element(f"{{{NAMES['samlp']}}}Extensions")
    extensions.append(original)
    root.insert(1, extensions)


def comment_in_the_name(root):
    """A comment, which a signature leaves out, and which some read as the end of the text."""
    name = root.find(".//saml:NameID", NAMES)
    name.text, name.tail = "an", None
    comment = etree.Comment("x")
    comment.tail = "na-1.example.net"
    name.append(comment)


WRAPPED = [xsw3, after, xsw4, xsw5, xsw6, xsw7, xsw8, one_name_for_two, comment_in_the_name]


@pytest.mark.parametrize("paths", [("saml:Assertion",), ("saml:Assertion", ".")], ids=["assertion", "both"])
@pytest.mark.parametrize("wrap", WRAPPED, ids=lambda each: each.__name__)
def test_a_wrapped_answer_lets_nobody_in(provider, wrap, paths):
    client = Client()
    root = answer_of(provider, client, *paths)
    wrap(root)
    assert posted(client, encoded(root)).status_code == 403
    assert nobody_came_in(client)


def test_who_believes_any_good_signature_is_deceived_by_them(provider):
    """The twin: these answers do have a good signature of the provider, and another name to be read first."""
    deceived = []
    for wrap in WRAPPED:
        root = answer_of(provider, Client())
        assert credulous(root, key_pair()[2]) == "anna-1"
        wrap(root)
        if credulous(root, key_pair()[2]) == "root":
            deceived.append(wrap)
    # Not by what lies inside the signature: xmlsec leaves that out of what is signed.
    assert [each.__name__ for each in deceived] == ["xsw3", "xsw4", "xsw5", "xsw7"]


@pytest.mark.parametrize("wrap", WRAPPED, ids=lambda each: each.__name__)
def test_the_library_alone_refuses_what_is_wrapped_too(provider, wrap, monkeypatch):
    monkeypatch.setattr(saml, "check_structure", lambda root: None)
    client = Client()
    root = answer_of(provider, client)
    wrap(root)
    assert posted(client, encoded(root)).status_code == 403
    assert nobody_came_in(client)


@pytest.mark.parametrize("wrap", [xsw1, xsw2], ids=lambda each: each.__name__)
def test_a_wrapped_answer_that_is_signed_around_lets_nobody_in(provider, wrap):
    client = Client()
    root = answer_of(provider, client, "saml:Assertion", ".")
    wrap(root)
    assert posted(client, encoded(root)).status_code == 403
    assert nobody_came_in(client)


def test_a_comment_that_was_there_before_the_signature_changes_no_name(provider):
    """The twin: the whole text counts, and nothing of it is lost at the comment."""
    client = Client()
    text = provider.answer_xml(asked_in(sent_to(client))).replace(">anna-1<", ">anna-1<!-- x -->.example.net<")
    posted(client, encoded(provider.signed(text)))
    said = [row.extra_data["sub"] for row in SocialAccount.objects.all()]
    assert said in ([], ["anna-1.example.net"])


HOSTILE = {
    "nothing": "",
    "no base64": "%%%",
    "no XML": base64.b64encode(b"hello").decode(),
    "another root": base64.b64encode(b"<Response/>").decode(),
    "an entity": base64.b64encode(b'<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>').decode(),
    "a file": base64.b64encode(b'<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/hostname">]><r>&a;</r>').decode(),
    "a thousand levels": base64.b64encode(b"<a>" * 9000 + b"</a>" * 9000).decode()[:60_000],
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_answer_lets_nobody_in(provider, answer):
    client = Client()
    assert posted(client, answer).status_code == 403
    assert nobody_came_in(client)


def test_a_signature_with_another_transform_is_refused_before_it_is_computed(provider):
    client = Client()
    root = answer_of(provider, client)
    transforms = root.find(".//ds:Transforms", NAMES)
    etree.SubElement(
        transforms, f"{{{NAMES['ds']}}}Transform", Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"
    )
    assert posted(client, encoded(root)).status_code == 403 and nobody_came_in(client)


# Once, and in the browser that asked


def test_an_answer_works_once(provider):
    client = Client()
    answer = provider.answer(sent_to(client))
    assert posted(client, answer).status_code == 302
    client.post(reverse("sign_out"))
    assert posted(client, answer).status_code == 403
    assert posted(Client(), answer).status_code == 403
    assert who(client) == ""


def test_an_answer_of_another_name_works_once_for_a_request(provider):
    """The provider's second assertion to the same request: its request was used."""
    client = Client()
    address = sent_to(client)
    assert posted(client, provider.answer(address)).status_code == 302
    client.post(reverse("sign_out"))
    assert posted(client, provider.answer(address)).status_code == 403
    assert who(client) == ""


def test_an_answer_works_only_in_its_browser(provider):
    asking, other = Client(), Client()
    sent_to(other)
    assert posted(other, provider.answer(sent_to(asking))).status_code == 403
    assert who(other) == ""


def test_the_key_of_an_answer_works_once_and_for_a_minute(provider):
    client = Client()
    first = Client().post(reverse("saml_assertion"), {"SAMLResponse": provider.answer(sent_to(client))})
    assert first.status_code == 303 and "no-store" in first["Cache-Control"]
    assert not first.cookies
    assert client.get(first["Location"]).status_code == 302
    assert client.get(first["Location"]).status_code == 403
    assert Client().get(reverse("saml_finish", args=["a" * 32])).status_code == 403
    second = Client().post(reverse("saml_assertion"), {"SAMLResponse": provider.answer(sent_to(client))})
    caches["tries"].clear()  # as after a minute
    assert client.get(second["Location"]).status_code == 403


@pytest.mark.parametrize(("unsolicited", "name"), [(False, ""), (True, "anna")])
def test_the_provider_may_begin_by_itself_where_the_operator_says_so(provider, unsolicited, name):
    provider.facts = {"asked": None, "around": None}
    with provider.settings({"unsolicited": unsolicited}):
        client = Client()
        answer = encoded(provider.signed(provider.answer_xml(None)))
        assert posted(client, answer).status_code == (302 if name else 403)
        assert who(client) == name
        client.post(reverse("sign_out"))
        assert posted(client, answer).status_code == 403
        # An answer to a request of another browser is no unsolicited one, whatever stands around it.
        provider.facts = {"around": None}
        assert posted(Client(), provider.answer(sent_to(Client()))).status_code == 403


# The provider


def test_where_the_provider_is_away_the_page_says_so(provider):
    client = Client()
    answer = provider.answer(sent_to(client))
    provider.broken = True
    assert client.post(reverse("provider")).status_code == 503
    assert posted(client, answer).status_code == 503
    provider.broken = False
    assert posted(client, answer).status_code == 302


BAD = {
    "over": {"until": soon(-60)},
    "no key": {"published": []},
    "no time": {"until": "soon"},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_metadata_that_cannot_be_used_lets_nobody_in(provider, bad):
    client = Client()
    answer = provider.answer(sent_to(client))
    for name, value in bad.items():
        setattr(provider, name, value)
    assert client.post(reverse("provider")).status_code == 403
    assert posted(client, answer).status_code == 403 and nobody_came_in(client)


def test_metadata_may_lie_in_a_file(provider, tmp_path):
    (tmp_path / "idp.xml").write_text(provider.metadata())
    with provider.settings({"metadata": str(tmp_path / "idp.xml")}):
        client = Client()
        came_back(client, provider)
        assert who(client) == "anna"
        (tmp_path / "idp.xml").unlink()
        assert client.post(reverse("provider")).status_code == 503


HEALTH = {
    "all is well": ({}, None),
    "a certificate ends": ({"published": [key_pair(2, 20)[2]]}, "last signing certificate ends on"),
    "the next one is there": ({"published": [key_pair(2, 20)[2], key_pair()[2]]}, None),
    "away": ({"broken": True}, "cannot be loaded"),
    "over": ({"until": soon(-60)}, "held until"),
    "over soon, but asked for anew": ({"until": soon(3600)}, None),
}


@pytest.mark.parametrize(("bad", "said"), HEALTH.values(), ids=HEALTH)
def test_the_doctor_tells_of_the_provider(provider, bad, said):
    for name, value in bad.items():
        setattr(provider, name, value)
    problems = list(services.provider())
    assert [said in each.wrong for each in problems] == ([True] if said else [])
    assert all(each.cure for each in problems)


def test_the_doctor_tells_of_a_file_that_holds_not_for_long(provider, tmp_path):
    provider.until = soon(20 * 86_400)
    (tmp_path / "idp.xml").write_text(provider.metadata())
    with provider.settings({"metadata": str(tmp_path / "idp.xml")}):
        (problem,) = services.provider()
    assert "nobody can sign in after that" in problem.wrong


def test_without_saml_there_is_none(client):
    for name, method in [("saml_assertion", "post"), ("saml_metadata", "get"), ("saml_sign_out", "get")]:
        assert getattr(client, method)(reverse(name)).status_code == 404
    assert client.get(reverse("saml_finish", args=["a"])).status_code == 404


# Accounts, roles


def test_the_account_is_found_by_the_name_that_lasts_and_its_address_follows(provider):
    provider.attributes |= {MAIL: ["anna@example.org"], VERIFIED: ["true"]}
    came_back(Client(), provider)
    provider.attributes = {MAIL: ["anna.new@example.org"], VERIFIED: ["true"]}
    client = Client()
    came_back(client, provider)
    assert who(client) == "anna"
    assert get_user_model().objects.get().email == "anna.new@example.org"
    provider.name = "boris-2"  # who got her former name and address
    provider.attributes = {**ANNA, MAIL: ["anna@example.org"], VERIFIED: ["true"]}
    other = Client()
    came_back(other, provider)
    assert who(other) == "anna-2"


JOINED = [
    ({VERIFIED: ["true"]}, True, False, "old"),
    ({}, True, True, "old"),  # the operator says that all addresses are
    ({VERIFIED: ["true"]}, False, True, "anna"),  # the operator did not say to join
    ({}, True, False, "anna"),
    ({VERIFIED: ["false"]}, True, False, "anna"),
]


@pytest.mark.parametrize(("attributes", "join", "verified", "name"), JOINED)
def test_accounts_are_joined_by_a_verified_address_where_the_operator_says_so(
    provider, attributes, join, verified, name
):
    make_user("old", email="Anna@Example.org")
    provider.attributes |= {MAIL: ["anna@example.org"]} | attributes
    with provider.settings({"verified": verified}, JOIN_BY_ADDRESS=join):
        client = Client()
        came_back(client, provider)
        assert who(client) == name


def test_groups_give_roles_and_their_end_takes_them_back(provider):
    make_collection("hills")
    roles = {"leads": [("hills", "admin")], "it": [("", "superuser")]}

    def enters(*groups: str) -> dict[str, str]:
        provider.attributes = ANNA | ({"memberOf": groups} if groups else {})
        assert came_back(Client(), provider).status_code == 302
        return dict(Membership.objects.values_list("collection__slug", "role"))

    def is_superuser() -> bool:
        return get_user_model().objects.get().is_superuser

    with provider.settings({"groups": "memberOf"}, GROUP_ROLES=roles):
        assert enters("leads", "it", "another") == {"hills": "admin"} and is_superuser()
        assert enters("it") == {} and is_superuser()
        assert enters() == {} and not is_superuser()


def test_attributes_are_mapped_by_the_settings(provider):
    provider.attributes = {"mail": ["anna@example.org"], "uid": ["a-17"], "login": ["anna"]}
    provider.facts = {"format": FORMATS + "transient"}
    mapped = {"uid": ["uid"], "email": ["mail"], "username": ["login"]}
    with provider.settings({"attributes": mapped, "verified": True}):
        came_back(Client(), provider)
        provider.name = "another name of the moment"
        client = Client()
        came_back(client, provider)
    assert who(client) == "anna" and SocialAccount.objects.get().extra_data["sub"] == "a-17"
    assert get_user_model().objects.get().email == "anna@example.org"


def test_a_closed_account_stays_closed(provider):
    came_back(Client(), provider)
    get_user_model().objects.update(is_active=False)
    client = Client()
    assert came_back(client, provider).status_code == 403
    assert who(client) == ""


# Sign-out


def ends(query: str, **more):
    """The answer to a browser without cookies that the provider sends."""
    return Client().get(f"{reverse('saml_sign_out')}?{query}", **more)


def test_the_provider_ends_all_sessions_of_a_person_or_one(provider):
    first, second, boris = Client(), Client(), Client()
    came_back(first, provider)
    provider.facts = {"session": "s-2"}
    came_back(second, provider)
    provider.name, provider.attributes = "boris-2", {"http://schemas.auth0.com/nickname": ["boris"]}
    came_back(boris, provider)
    back = ends(provider.request_to_sign_out(name="anna-1", session="s-2"))
    assert back.status_code == 302 and back["Location"].startswith(f"{provider.address}/slo?SAMLResponse=")
    assert [who(each) for each in (first, second, boris)] == ["anna", "", "boris"]
    ends(provider.request_to_sign_out(name="anna-1"))
    assert [who(each) for each in (first, boris)] == ["", "boris"]
    assert AuditEvent.objects.filter(act="sessions.ended", about="anna", detail__by_provider=True).count() == 2


BAD_REQUESTS = {
    "by another key": {"pair": key_pair(1)},
    "of another provider": {"issuer": "https://id.example.net/idp"},
    "of no provider": {"issuer": None},
    "for another address": {"destination": HERE + "sign-out/more"},
    "for no address": {"destination": None},
    "over": {"until": soon(-7200)},
    "of yesterday": {"at": soon(-86_400)},
    "of tomorrow": {"at": soon(86_400)},
    "by SHA-1, it says": {"algorithm": "http://www.w3.org/2000/09/xmldsig#rsa-sha1"},
}


@pytest.mark.parametrize("bent", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
def test_a_wrong_request_to_sign_out_ends_nothing(provider, bent):
    client = Client()
    came_back(client, provider)
    assert ends(provider.request_to_sign_out(**bent)).status_code == 400
    assert who(client) == "anna"
    assert AuditEvent.objects.filter(act="sign_out.refused").count() == 1


def test_a_request_to_sign_out_is_signed_as_it_is_and_works_once(provider):
    client = Client()
    came_back(client, provider)
    right, other = provider.request_to_sign_out(name="nobody"), provider.request_to_sign_out()
    unsigned, forged = other.partition("&SigAlg")[0], other.partition("&")[0]
    assert ends(unsigned).status_code == ends("").status_code == 400
    # The signature is of one request, and another stands before or behind it.
    hidden = forged.replace("SAMLRequest", "%53AMLRequest")
    for query in (f"{forged}&{right}", f"{right}&{forged}", f"{hidden}&{right}", f"{right}&{hidden}"):
        assert ends(query).status_code == 400
    assert ends(forged + right[right.index("&") :]).status_code == 400
    assert who(client) == "anna"
    assert ends(other).status_code == 302 and who(client) == ""
    came_back(client, provider)
    assert ends(other).status_code == 400 and who(client) == "anna"


def test_a_sign_out_here_goes_to_the_provider_too_and_comes_back(provider):
    client = Client()
    came_back(client, provider)
    page = client.post(reverse("sign_out")).content.decode()
    assert f"{provider.address}/slo?SAMLRequest=" in page
    assert who(client) == ""
    assert client.get(reverse("saml_sign_out"), {"SAMLResponse": "x"}).url == reverse("home")


def test_a_sign_out_works_without_the_provider(provider):
    client = Client()
    came_back(client, provider)
    provider.broken = True
    assert client.post(reverse("sign_out")).status_code == 302
    assert who(client) == ""


def test_a_session_of_the_other_protocol_signs_out_here_alone(provider):
    client = Client()
    came_back(client, provider)
    row = Session.objects.get(pk=client.session.session_key)
    assert len(row.provider_person) == len(row.provider_session) == 64
    session = client.session
    session["provider"] = [*session["provider"][:2], "oidc", "a token"]
    session.save()
    assert client.post(reverse("sign_out")).status_code == 302


# Tries


def test_wrong_answers_are_counted_and_right_ones_are_not(provider):
    wrong = [posted(Client(), "x").status_code for _ in range(throttle.PER_ADDRESS + 1)]
    assert wrong == [403] * throttle.PER_ADDRESS + [429]
    clients = [Client(REMOTE_ADDR=f"10.0.0.{number}") for number in range(throttle.PER_ADDRESS + 2)]
    answers = [(client, provider.answer(sent_to(client))) for client in clients]
    right = [posted(client, answer, REMOTE_ADDR="10.0.1.1").status_code for client, answer in answers]
    assert right == [302] * (throttle.PER_ADDRESS + 2)
    asked = [ends("", REMOTE_ADDR="10.0.1.2").status_code for _ in range(throttle.PER_ADDRESS + 1)]
    assert asked == [400] * throttle.PER_ADDRESS + [429]


def test_only_posts_are_answers(provider):
    assert Client().get(reverse("saml_assertion")).status_code == 405
    assert Client().post(reverse("saml_sign_out")).status_code == 405


def test_a_time_is_read_as_providers_write_it():
    expected = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    for text in ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.0000000Z", "2026-01-02T04:04:05+01:00"):
        assert moment(text) == expected
