"""Rankings from a search engine over HTTP: from engines of every known dialect, and from hostile ones."""

import ast
import io
import ipaddress
import itertools
import json
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import call_command

from ratings.formats.source import Source
from ratings.importing import intake, pull, signs
from ratings.importing.pull import dialects, fetching, places, turns
from ratings.importing.pull.engines import proposed
from ratings.management.commands._collection_command import Refused
from ratings.models import Collection, Document, Engine, EngineAnswer, Job, Query, Ranking, System
from ratings.tests.cast import make_collection
from ratings.tests.fake_engine import Handler

ROOT = Path(__file__).resolve().parents[3]
HERE = ["127.0.0.1/32"]
# What an engine answers to "text of q1" and "text of q2".
RANKED = {"text of q1": ["b", "x/1"], "text of q2": []}


@pytest.fixture(autouse=True)
def allowed(settings) -> None:
    settings.PULL_HOSTS = HERE


def asked(url: str, *options: str, depth: int = 2, **facts: str) -> str:
    """What `pull` prints of the engine at the URL: one of Elasticsearch, but for these fields."""
    engine = Engine.objects.filter(name="engine").first() or proposed(Engine.Dialect.ELASTICSEARCH)
    engine.collection, engine.name, engine.address = Collection.objects.get(slug="hills"), "engine", url
    for name, fact in facts.items():
        setattr(engine, name, fact)
    engine.save()
    out = io.StringIO()
    where = ("--system", "live", "--engine", "engine", "--depth", str(depth))
    call_command("pull", "hills", *where, *options, stdout=out)
    return out.getvalue()


def refused(url: str, **facts: str) -> str:
    """What is said, where nothing may be written."""
    with pytest.raises(Refused) as error:
        asked(url, **facts)
    assert str(error.value).endswith("Nothing was written.")
    assert not System.objects.exists()
    assert Document.objects.count() == 4
    return str(error.value)


def elastic(handler: Handler) -> None:
    query = handler.body["query"]["multi_match"]["query"]
    hits = [
        {"_id": key, "_score": 9.5 - place, "_source": {"title": f"T {key}", "body": "é", "url": "u", "other": 1}}
        for place, key in enumerate(RANKED[query])
    ]
    handler.send({"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits[: handler.body["size"]]}})


def solr(handler: Handler) -> None:
    docs = [
        {"id": k, "score": 9.5 - i, "title": [f"T {k}"], "body": "é"}
        for i, k in enumerate(RANKED[handler.given["q"]])
    ]
    handler.send({"responseHeader": {"status": 0}, "response": {"docs": docs[: int(handler.given["rows"])]}})


def vespa(handler: Handler) -> None:
    children = [
        {"relevance": 9.5 - place, "fields": {"documentid": key, "title": f"T {key}", "body": "é"}}
        for place, key in enumerate(RANKED[handler.given["query"]])
    ]
    root = {"fields": {"totalCount": len(children)}, "coverage": {"full": True}}
    handler.send({"root": root | ({"children": children} if children else {})})


SOLR = {"body": "", "results_at": "response.docs", "id_at": "id", "score_at": "score", "title_at": "title"}
SOLR |= {"text_at": "body|text"}
VESPA = {"body": "", "results_at": "root.children", "id_at": "fields.documentid", "score_at": "relevance"}
VESPA |= {"title_at": "fields.title", "text_at": "fields.body"}
ENGINES = {
    "elasticsearch": (elastic, "", {}),
    "solr": (solr, "?q={query}&rows={depth}", SOLR),
    "vespa": (vespa, "?query={query}", VESPA),
}


def results(system: str = "live") -> dict[str, list[tuple[str, float]]]:
    keys = dict(Document.objects.values_list("pk", "key"))
    return {
        ranking.query.key: [
            (keys[pk], s) for pk, s in zip(ranking.documents.tolist(), ranking.scores.tolist(), strict=True)
        ]
        for ranking in Ranking.objects.filter(system__name=system).select_related("query")
    }


@pytest.mark.django_db
@pytest.mark.parametrize("name", ENGINES)
def test_engines_are_asked_and_their_answers_are_read(engine, name):
    make_collection()
    answer, parameters, facts = ENGINES[name]
    text = asked(engine(answer).url + parameters, **facts)
    assert results() == {"q1": [("b", 9.5), ("x/1", 8.5)], "q2": []}
    new = Document.objects.get(key="x/1")
    assert (new.title, new.body) == ("T x/1", "é")
    assert Document.objects.get(key="b").title == "Title b"  # what is there stays
    assert "live: 2 rankings to a depth of 2; 1 new document." in text


@pytest.mark.django_db
def test_any_other_dialect_is_said_with_paths_and_templates(engine):
    def answer(handler: Handler) -> None:
        assert handler.body == {"q": ["text of q1", {"n": 3}], "say": "3 of text of q1 for q1", "raw": "{x} {"}
        assert handler.given == {"lang": "en", "id": "q1-3"}
        handler.send({"data": [{"list": [{"doc": {"n": 7}, "texts": ["a", "b"]}, {"doc": {"n": "d"}}]}]})

    make_collection()
    body = '{"q": ["{query}", {"n": "{depth}"}], "say": "{depth} of {query} for {key}", "raw": "{x} {"}'
    Query.objects.filter(key="q2").delete()
    facts = {"results_at": "data.0.list", "id_at": "doc.n", "text_at": "texts", "score_at": "", "body": body}
    asked(engine(answer).url + "?lang=en&id={key}-{depth}", depth=3, **facts)
    assert results() == {"q1": [("7", 1.0), ("d", 0.5)]}
    assert Document.objects.get(key="7").body == "a\nb"


# What Groonga 13 answers to `select` with the columns of the path in the test.
COLUMNS = [["_key", "ShortText"], ["_score", "Int32"], ["title", "ShortText"], ["body", "Text"]]
GROONGA = [["d1", 11, "Red shoes", "Shoes that are red"], ["d2", 1, "Blue shoes", "not red"]]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("hits", "answer"),
    [
        ("1.0.2:", [[0, 1795901930.6, 0.1], [[[2], COLUMNS, *GROONGA]]]),
        ("body.records", {"header": {"return_code": 0}, "body": {"n_hits": 2, "records": GROONGA}}),
        ("0:", GROONGA),
    ],
)
def test_answers_of_lists_are_read_by_their_places(engine, hits, answer):
    make_collection()
    found = engine(lambda handler: handler.send(json.dumps(answer).encode()))
    paths = {"results_at": hits, "id_at": "0", "score_at": "1", "title_at": "2", "text_at": "3"}
    asked(found.url + "?query={query}", body="", **paths)
    assert results()["q1"] == [("d1", 11.0), ("d2", 1.0)]
    assert Document.objects.get(key="d2").body == "not red"


def test_a_query_in_which_a_placeholder_stands_is_sent_as_it_is():
    filled = dialects.target("/p/{key}", "q=so:{query}", {"query": "{depth} & ü", "key": "a/b", "depth": 3})
    assert filled == "/p/a%2Fb?q=so:%7Bdepth%7D%20%26%20%C3%BC"


@pytest.mark.django_db
def test_who_is_asked_too_much_is_asked_again_after_the_pause_that_they_name(engine, monkeypatch):
    pauses = []
    monkeypatch.setattr(fetching.Limits, "pause", property(lambda self: pauses.append, lambda self, value: None))
    answers = iter([429, 503, 429])

    def answer(handler: Handler) -> None:
        status = next(answers, 200)
        if status == 200:
            elastic(handler)
        else:
            handler.send(b"busy", status, **({"Retry-After": "7"} if status == 503 else {}))

    make_collection()
    asked(engine(answer).url)
    assert pauses == [1.0, 7.0, 4.0]
    System.objects.all().delete()
    Document.objects.filter(key="x/1").delete()
    assert "the first 2 queries: it answers 503" in refused(engine(lambda handler: handler.send(b"no", 503)).url)
    assert pauses[3:] == [1.0, 2.0, 4.0, 8.0] * 2


@pytest.mark.django_db
def test_the_authorization_is_sent_from_the_environment_and_never_said(engine, monkeypatch):
    make_collection()
    found = engine(elastic)
    monkeypatch.setenv("IDEALIST_ENGINE_SHOP", "ApiKey secret")
    assert "secret" not in asked(found.url, secret="IDEALIST_ENGINE_SHOP")
    assert {each.headers["Authorization"] for each in found.asked} == {"ApiKey secret"}
    System.objects.all().delete()
    Document.objects.filter(key="x/1").delete()
    monkeypatch.setenv("IDEALIST_ENGINE_SHOP", "a\r\nb: c")
    assert "has a character that no header can have" in refused(found.url)
    monkeypatch.setenv("IDEALIST_ENGINE_SHOP", "Basic secret2")
    told = refused(engine(lambda handler: handler.send(b"who?", 401)).url)
    assert "it answers 401 Unauthorized: 'who?'" in told
    assert "secret" not in told


# Hostile engines


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while True:
        handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def slow_body(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    drip(handler)


def slow_head(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    drip(handler)


def drip(handler: Handler) -> None:
    """Each byte comes in time, the whole never."""
    while True:
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


def of(*hits: dict):
    return lambda handler: handler.send({"hits": {"hits": hits}})


HOSTILE = {
    "endless": (endless, "the answer is larger than 1 MB. Ask for less of each query"),
    "slow body": (slow_body, "there is no complete answer after 0.5 seconds. Ask for less of each query"),
    "slow head": (slow_head, "there is no complete answer after 0.5 seconds"),
    "redirect": (lambda h: h.send(b"", 302, Location="http://127.0.0.1:1/"), "No redirect is followed"),
    "not found": (lambda handler: handler.send(b"<h1>no</h1>", 404), "it answers 404 Not Found: '<h1>no</h1>'"),
    "no JSON": (lambda handler: handler.send(b"<html>"), "is not JSON: Expecting value at character 1"),
    "deep JSON": (lambda handler: handler.send(b'{"a":' * 200_000), "the JSON is nested too deeply"),
    "a list": (lambda handler: handler.send(b"[1]"), "nothing at hits.hits; it is [1]. Say where the results"),
    "a text": (lambda handler: handler.send(b'"so"'), 'nothing at hits.hits; it is "so". Say where the results'),
    "an empty object": (lambda handler: handler.send(b"{}"), "nothing at hits.hits; it is {}. Say where"),
    "not UTF-8": (lambda handler: handler.send(b'{"a": "\xff"}'), "the answer is not UTF-8 at byte 8"),
    "no hits": (
        lambda handler: handler.send({"took": 1}),
        "nothing at hits.hits; it has 'took'. Say where the",
    ),
    "hits are text": (lambda handler: handler.send({"hits": {"hits": "x"}}), "at hits.hits there is 'x'"),
    "no id": (of({"_score": 1.0}), "hit 1 has nothing at _id for its id. Say where its id is"),
    "id is a list": (of({"_id": ["a"]}), "hit 1 has ['a'] at _id for its id"),
    "id with a tab": (of({"_id": "a\tb"}), "has a blank or a control character"),
    "NaN": (lambda handler: handler.send(b'{"hits": {"hits": [{"_id": "a", "_score": NaN}]}}'), "NaN is not"),
    "huge": (lambda handler: handler.send(b'{"hits": {"hits": [{"_id": "a", "_score": 1e999}]}}'), "is too large"),
    "score is text": (of({"_id": "a", "_score": "9"}), "hit 1 has '9' at _score, which is not a score"),
    "twice": (of({"_id": "n", "_score": 2}, {"_id": "n", "_score": 1}), "hits 1 and 2 are the same document n"),
    "half scored": (of({"_id": "a", "_score": 2}, {"_id": "b"}), "hit 2 has"),
    "not whole": (lambda handler: handler.send({"timed_out": True}), "is incomplete: timed_out is True"),
    "compressed": (lambda handler: handler.send(b"x", Content_Encoding="gzip"), "compressed though none was"),
    "no HTTP": (lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n"), "it cannot be reached"),
    "hangs up": (lambda handler: handler.connection.shutdown(socket.SHUT_RDWR), "it cannot be reached"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_or_broken_answer_is_refused(engine, monkeypatch, name):
    make_collection()
    Query.objects.filter(key="q2").delete()
    short = fetching.Limits(0.5, bytes=1_000_000, total_seconds=2)
    monkeypatch.setattr(turns, "limits", lambda: replace(short, begun=time.monotonic()))
    answer, said = HOSTILE[name]

    def reply(handler: Handler) -> None:
        answer(handler)
        handler.close_connection = True

    begun = time.monotonic()
    told = refused(engine(reply).url)
    assert said in told and not Document.objects.exclude(title__startswith="Title ").exists()
    assert time.monotonic() - begun < 5


def moody(handler: Handler) -> None:
    """Has no answer for q1, and one for q2."""
    if handler.body["query"]["multi_match"]["query"] == "text of q1":
        handler.send(b"broken", 500)
    else:
        handler.send({"hits": {"hits": [{"_id": "b", "_score": 1}]}})


@pytest.mark.django_db
def test_a_query_that_fails_is_a_gap_without_a_score_and_is_asked_again_later(engine, capsys):
    make_collection()
    asked(engine(moody).url)
    assert results() == {"q2": [("b", 1.0)]} and System.objects.get().gaps
    asked(engine(elastic).url)
    assert results() == {"q1": [("b", 9.5), ("x/1", 8.5)], "q2": [("b", 1.0)]}


@pytest.mark.django_db
def test_a_document_that_comes_twice_may_keep_its_better_rank(engine):
    make_collection()
    hits = [{"_id": key, "_score": score} for key, score in (("b", 3), ("a", 2), ("b", 1))]
    asked(engine(of(*hits)).url, "--keep-first", depth=3)
    assert results()["q1"] == [("b", 3.0), ("a", 2.0)]


@pytest.mark.django_db
def test_second_answers_show_how_far_the_engine_differs_from_itself(engine):
    make_collection()
    answers = itertools.cycle([["a", "b"], ["a", "b"], ["b", "c"], ["a", "b"]])

    def answer(handler: Handler) -> None:
        handler.send({"hits": {"hits": [{"_id": key} for key in next(answers)]}})

    text = asked(engine(answer).url, "--twice")
    assert Job.objects.get().report["twice"] == {"queries": 2, "differ": 1, "shared": 0.75, "failed": 0}
    assert "Asked twice: 2 queries; 1 got other first 10 results or another order. On average 75.0%" in text
    assert results()["q1"] == [("a", 1.0), ("b", 0.5)]  # the first answer counts


@pytest.mark.django_db
@pytest.mark.parametrize("step", ["asking the engine", "writing"])
def test_stopping_leaves_nothing(engine, monkeypatch, step):
    make_collection()

    def stop(self, name: str, share: float | None, rows: int) -> None:
        if name == step and rows:
            raise KeyboardInterrupt

    monkeypatch.setattr(signs.Progress, "__call__", stop)
    with pytest.raises(Refused, match="Stopped. Nothing was written."):
        asked(engine(elastic).url)
    assert not System.objects.exists() and not Job.objects.exists() and not EngineAnswer.objects.exists()
    assert Document.objects.count() == 4


@pytest.mark.django_db
def test_what_cannot_be_is_said_before_anybody_is_asked(engine):
    collection = make_collection()
    found = engine(elastic)
    with pytest.raises(Refused, match="There is no engine 'other' in hills: none is connected"):
        call_command("pull", "hills", "--system", "live", "--engine", "other")
    with pytest.raises(Refused, match="The depth must be from 1 to 1,000"):
        asked(found.url, depth=0)
    intake.import_run(collection, [Source("run", io.BytesIO(b"q1 Q0 a 1 2 live\n"))])
    with pytest.raises(Refused, match="live has rankings already, and a ranking is never overwritten"):
        asked(found.url)
    assert found.asked == []


@pytest.mark.django_db
def test_tls_that_is_none_is_refused(engine):
    make_collection()
    told = refused(engine(elastic).url.replace("http://", "https://"))
    assert "its certificate or TLS is not accepted" in told


# Where requests may go


@pytest.mark.parametrize(
    ("url", "allowed", "said"),
    [
        ("https://es.example.org/", [], "No host may be asked until IDEALIST_PULL_HOSTS lists it"),
        ("https://es.example.org/", ["other.org"], "es.example.org:443 is not in IDEALIST_PULL_HOSTS"),
        ("https://es.example.org/", ["other.org"], "a superuser can allow it on their page"),
        ("http://127.0.0.1:9200/", ["localhost"], "127.0.0.1:9200 is not in IDEALIST_PULL_HOSTS"),
        ("http://127.0.0.1:9200/", ["127.0.0.1:11434"], "127.0.0.1:9200 is not in IDEALIST_PULL_HOSTS"),
        ("http://127.0.0.1/", ["127.0.0.0/8:11434"], "127.0.0.1:80 is not in IDEALIST_PULL_HOSTS"),
        ("http://[::1]/", ["[::1]:11434"], "[::1]:80 is not in IDEALIST_PULL_HOSTS"),
        ("http://localhost:80/", ["localhost:80", "127.0.0.1:81"], "is at 127.0.0.1, which is no public address"),
        ("https://es.example.org/", ["es.example.org:9243"], "es.example.org:443 is not in IDEALIST_PULL_HOSTS"),
        ("http://localhost/", ["localhost"], "is at 127.0.0.1, which is no public address"),
        ("http://metadata/", ["metadata"], "is at 169.254.169.254, which is no public address"),
        ("http://inside/", ["inside"], "is at 10.0.0.7, which is no public address"),
        ("http://mapped/", ["mapped"], "is at ::ffff:127.0.0.1, which is no public address"),
        ("http://nat64/", ["nat64"], "is at 64:ff9b::7f00:1, which is no public address"),
        ("http://six/", ["six"], "is at ::1, which is no public address"),
        ("http://nobody/", ["nobody"], "The host nobody is not found"),
        ("http://es.example.org:0/", ["es.example.org"], "has the port 0"),
        ("ftp://es.example.org/", ["es.example.org"], "is not an http:// or https:// address with a host"),
        ("file:///etc/passwd", [""], "is not an http:// or https:// address with a host"),
        ("http://user:secret@es.example.org/", ["es.example.org"], "has a name or password in it"),
        ("http://es.example.org/a b", ["es.example.org"], "has a blank or a character that must be written"),
        ("http://es.example.org/\r\nX: y", ["es.example.org"], "has a blank or a character"),
        ("http://es.example.org:99999/", ["es.example.org"], "cannot be read: Port out of range"),
        ("http://[::1/", ["::1"], "cannot be read"),
    ],
)
def test_a_place_that_may_not_be_asked_is_refused(monkeypatch, url, allowed, said):
    monkeypatch.setattr(places.socket, "getaddrinfo", looked_up)
    with pytest.raises(ValueError) as error:
        pull.checked_place(url, allowed)
    assert said in str(error.value)
    assert "secret" not in str(error.value)


NAMES = {
    "localhost": ["127.0.0.1"],
    "metadata": ["169.254.169.254"],
    "inside": ["10.0.0.7"],
    "mapped": ["::ffff:127.0.0.1"],
    "nat64": ["64:ff9b::7f00:1"],
    "six": ["::1"],
    "::1": ["::1"],
    "127.0.0.1": ["127.0.0.1"],
    "127.0.0.9": ["127.0.0.9"],
    "both": ["10.0.0.7", "93.184.215.14"],
    "es.example.org": ["93.184.215.14"],
}


def looked_up(host: str, port: int, **given) -> list:
    if host not in NAMES:
        raise socket.gaierror(-2, "Name or service not known")
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in NAMES[host]]


def test_a_listed_network_allows_its_addresses_and_of_several_only_an_allowed_one_is_asked(monkeypatch):
    monkeypatch.setattr(places.socket, "getaddrinfo", looked_up)
    place = pull.checked_place("http://inside:9200/a?b=c", ["inside", "10.0.0.0/8"])
    assert place == ("inside", 9200, False, "/a", "b=c", "10.0.0.7")
    assert pull.checked_place("http://[::1]:11434/v1", ["::1"]).port == 11434
    assert pull.checked_place("https://BOTH/", ["both"]).address == "93.184.215.14"


@pytest.mark.parametrize(
    ("listed", "open_", "shut"),
    [
        (["127.0.0.1:11434"], "http://127.0.0.1:11434/v1", "http://127.0.0.1:6379/"),
        (["127.0.0.0/8:11434"], "http://127.0.0.9:11434/v1", "http://127.0.0.9/"),
        (["[::1]:11434"], "http://[::1]:11434/v1", "http://[::1]:8000/"),
        (["inside:9200", "10.0.0.0/8"], "http://inside:9200/", "http://inside:9201/"),
        (["ES.example.org:443"], "https://es.example.org/", "http://es.example.org/"),
    ],
)
def test_a_listed_port_is_the_only_one_of_its_host(monkeypatch, listed, open_, shut):
    monkeypatch.setattr(places.socket, "getaddrinfo", looked_up)
    assert pull.checked_place(open_, listed)
    with pytest.raises(ValueError, match="is not in IDEALIST_PULL_HOSTS"):
        pull.checked_place(shut, listed)


INSIDE = ["127.0.0.1", "10.0.0.7", "169.254.169.254", "0.0.0.0", "100.64.0.1", "192.0.0.9", "224.0.0.1"]
# How IPv6 carries an IPv4 address: mapped, compatible, translated, 6to4, Teredo, and NAT64 of either prefix.
CLOTHES = [
    lambda ip: f"::ffff:{ip}",
    lambda ip: f"::{ip}",
    lambda ip: f"::ffff:0:{ip}",
    lambda ip: str(ipaddress.IPv6Address((0x2002 << 112) | (int(ip) << 80))),
    lambda ip: str(ipaddress.IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | (int(ip) ^ 0xFFFFFFFF))),
    lambda ip: str(ipaddress.IPv6Address((0x20010000 << 96) | (int(ip) << 64) | 0xF7F7F7F7)),
    lambda ip: f"64:ff9b::{ip}",
    lambda ip: f"64:ff9b:1::{ip}",
]
# fmt: off
SPECIAL = [
    "0.0.0.1", "10.1.2.3", "100.127.255.254", "127.255.255.254", "169.254.0.1", "172.16.0.1", "172.31.255.255",
    "192.0.0.1", "192.0.0.10", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.1.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1",
    "::2", "64:ff9b:1:ffff::1", "100::1", "100:0:0:1::1", "2001::1", "2001:1::1", "2001:2::1", "2001:4:112::1",
    "2001:10::1", "2001:20::1", "2001:30::1", "2001:db8::1", "2002::1", "3fff::1", "3fff:fff::1", "4000::1",
    "5f00::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1", "ffff::1",
]
# fmt: on
PUBLIC = ["8.8.8.8", "93.184.215.14", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1", "240e::1"]


def is_asked(monkeypatch, address: str, *allowed: str) -> bool:
    found = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(places.socket, "getaddrinfo", lambda *given, **more: found)
    try:
        return pull.checked_place("http://engine/", ["engine", *allowed]).address == address
    except ValueError as error:
        assert "which is no public address" in str(error)
        return False


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("dressed", CLOTHES)
def test_an_inner_address_in_no_clothes_of_ipv6_is_public(monkeypatch, inside, dressed):
    assert not is_asked(monkeypatch, dressed(ipaddress.IPv4Address(inside)))


@pytest.mark.parametrize("address", SPECIAL)
def test_an_address_for_a_special_use_is_not_public(monkeypatch, address):
    assert not is_asked(monkeypatch, address)
    assert is_asked(monkeypatch, address, address)  # unless it is listed itself


@pytest.mark.parametrize("address", SPECIAL)
def test_a_library_that_calls_everything_global_opens_nothing_that_carries_another(monkeypatch, address):
    """Patch versions of Python differ in what they call global."""
    for family in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        monkeypatch.setattr(family, "is_global", True)
    assert not is_asked(monkeypatch, address)


@pytest.mark.parametrize("address", [*PUBLIC, "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_public_address_is_asked_and_so_is_one_that_a_translator_leads_to(monkeypatch, address):
    assert is_asked(monkeypatch, address)


@pytest.mark.parametrize("address", ["::ffff:10.0.0.7", "64:ff9b::a00:7"])
def test_a_listed_network_of_ipv4_holds_in_the_clothes_of_ipv6(monkeypatch, address):
    assert is_asked(monkeypatch, address, "10.0.0.0/8")


@pytest.mark.django_db
def test_a_name_that_means_another_address_a_moment_later_changes_nothing(engine, monkeypatch, settings):
    """The name is looked up once, and what was checked is what is connected to."""
    make_collection()
    found, asked_for = engine(elastic), []

    def rebinding(host: str, port: int, *given, **more) -> list:
        asked_for.append(host)
        if len(asked_for) > 1 and host == "engine.test":
            raise AssertionError("looked up again")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    settings.PULL_HOSTS = ["engine.test", "127.0.0.1"]
    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    asked(found.url.replace("127.0.0.1", "engine.test"))
    assert asked_for.count("engine.test") == 1
    assert found.asked[0].headers["Host"] == f"engine.test:{found.server_port}"


# Of all code, only this asks anybody anything

CLIENTS = {"http.client", "urllib.request", "requests", "httpx", "aiohttp", "urllib3", "socket", "ftplib"}
CLIENTS |= {"smtplib", "xmlrpc.client", "telnetlib", "poplib", "imaplib", "asyncio", "webbrowser", "pycurl"}


def imported(code: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "import_module",
            "__import__",
        ):
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found


@pytest.mark.slow
def test_no_other_code_can_send_a_request():
    files = [file for app in ("config", "ratings", "evaluation") for file in (ROOT / app).rglob("*.py")]
    files = [file for file in files if file != ROOT / "config" / "server.py"]  # which listens
    asking = {
        str(file.relative_to(ROOT)): sorted(clients)
        for file in files
        if "tests" not in file.parts and (clients := imported(file.read_text()) & CLIENTS)
    }
    of_operator = {"ratings/people/mail.py": ["smtplib"], "ratings/people/sign_in/oidc.py": ["requests"]}
    by_pull = {
        "ratings/importing/pull/fetching.py": ["http.client", "socket"],
        "ratings/importing/pull/places.py": ["socket"],
    }
    assert asking == by_pull | of_operator


def test_the_walk_sees_a_client_that_is_planted():
    planted = "import urllib.request", "from urllib import request", "from http import client"
    for code in (*planted, "import_module('requests')"):
        assert imported(code) & CLIENTS
