"""OWASP's requirements: what the list names exists, and it counts right. Then guards that only it asks for."""

import ast
import logging
import re
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from hashlib import sha1
from itertools import chain
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils.module_loading import import_string

from config import settings as ours
from config.help.documents import DOCS_FOLDER
from config.logs import TextFormatter
from ratings.people.forms import SignUpForm
from ratings.people.passwords import NotBreached, NotOurWords, is_listed

ROOT = DOCS_FOLDER.parent
TEXT = (DOCS_FOLDER / "asvs.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| (\d+\.\d+\.\d+) L([12]) \| ([^|]+) \| (met|not applicable|not met|not checked) \| (.+) \|$", re.M
)
ROWS = [(tuple(map(int, number.split("."))), *rest) for number, *rest in ROW.findall(TEXT)]
HERE = "\n".join(line for line in TEXT.splitlines() if "<!--" not in line)
TESTS = re.compile(r"`((?:\w+/)*test_\w+\.py)`((?:[^`|\n]*`test_\w+`)*)")
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+(?:/|\.(?:py|js|md|html|lock|txt|toml)))`")
REQUIREMENTS = 253  # of levels 1 and 2 in version 5.0.0


@cache
def names_in(name: str) -> set[str]:
    """The tests in all files of this name."""
    found = (path for rooms in ("*", "*/*") for path in ROOT.glob(f"{rooms}/tests/{name}"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in found)
    return set(re.findall(r"^def (test_\w+)", text, re.M))


# The list


def test_every_requirement_has_one_row_in_order():
    numbers = [row[0] for row in ROWS]
    assert numbers == sorted(set(numbers)) and len(numbers) == REQUIREMENTS


def test_every_row_of_a_requirement_is_understood():
    assert len(re.findall(r"^\| \d+\.\d+\.\d+\b", TEXT, re.M)) == len(ROWS)


def test_every_test_that_is_named_exists():
    named = [(file, re.findall(r"`(test_\w+)`", tests)) for file, tests in TESTS.findall(HERE)]
    assert len(named) > 50
    assert [file for file, _ in named if not names_in(file)] == []
    assert [(file, test) for file, tests in named for test in tests if test not in names_in(file)] == []
    alone = re.findall(r"`(test_\w+)`", HERE)
    assert len(alone) == sum(len(tests) for _, tests in named), "a test stands without its file"


def test_every_file_that_is_named_exists():
    named = set(PATH.findall(HERE))
    assert len(named) > 30
    assert [path for path in sorted(named) if not (path.startswith("test_") or (ROOT / path).exists())] == []


def test_a_requirement_is_met_by_something_that_can_be_looked_up():
    told = [(number, where) for number, _, _, state, where in ROWS if state == "met"]
    assert [number for number, where in told if not re.search(r"`[\w./-]+`|\]\(", where)] == []


def test_the_summary_counts_the_rows():
    counts = Counter((int(level), state) for _, level, _, state, _ in ROWS)
    summary = re.findall(
        r"^\| (met|not applicable|not met|not checked) \| (\d+) \| (\d+) \| (\d+) \|$", TEXT, re.M
    )
    assert {state: tuple(map(int, numbers)) for state, *numbers in summary} == {
        state: (counts[1, state], counts[2, state], counts[1, state] + counts[2, state]) for _, state in counts
    }


# Guards


@pytest.mark.parametrize(
    "password", ["Idealist2026!", "rater-admin-1", "ratings.ratings", "JudgmentX99", "example-2026"]
)
def test_a_password_of_our_words_is_refused(settings, password):
    settings.ALLOWED_HOSTS = ["rate.example.org"]
    with pytest.raises(ValidationError, match="names of this server"):
        NotOurWords().validate(password)


@pytest.mark.parametrize("password", ["blue-Idealist-horse", "Zq7!kd-44", "administer-it", "2026-20-26"])
def test_other_passwords_are_not(password):
    NotOurWords().validate(password)


@pytest.fixture
def breached(settings, tmp_path) -> list[str]:
    """Passwords whose hashes stand in the list, as Pwned Passwords orders and ends its lines."""
    known = [f"pass phrase {number}" for number in range(500)]
    hashes = sorted(sha1(word.encode()).hexdigest().upper() for word in known)
    settings.BREACHED_PASSWORDS = tmp_path / "breached"
    settings.BREACHED_PASSWORDS.write_text("".join(f"{each}:{int(each[:2], 16) + 1}\r\n" for each in hashes))
    return known


def test_a_breached_password_is_refused(breached):
    for word in breached:  # the first and the last line are among them
        with pytest.raises(ValidationError, match="became known"):
            NotBreached().validate(word)
    for number in range(500):
        NotBreached().validate(f"another phrase {number}")


def test_without_its_list_no_password_is_set(breached, settings):
    settings.BREACHED_PASSWORDS.unlink()
    with pytest.raises(ValidationError, match="cannot be read"):
        NotBreached().validate("another phrase")
    settings.BREACHED_PASSWORDS = None
    NotBreached().validate(breached[0])


def test_the_list_can_be_empty_or_end_without_a_line(tmp_path):
    path, digest = tmp_path / "breached", b"A" * 40
    for content, listed in [(b"", False), (digest, True), (b"0" * 40 + b":1\n" + digest.lower(), True)]:
        path.write_bytes(content)
        assert is_listed(path, digest) == listed


def code_of_ours() -> list[Path]:
    """The files of Python of the apps."""
    paths = chain.from_iterable((ROOT / app).rglob("*.py") for app in ("config", "ratings", "evaluation"))
    return [path for path in paths if not {"tests", "migrations"} & set(path.parts)]


def calls_with_formats(path: Path) -> Iterator[ast.Call]:
    """The calls of a file that could fill in a text."""
    text = path.read_text(encoding="utf-8")
    if re.search(r"\.format(?:_map)?\(|\blog(?:ger|ging)?\.", text):
        yield from (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))


def is_written_here(node: ast.expr) -> bool:
    """Whether a string stands in the code: as it is, in parts, or as a constant."""
    if isinstance(node, ast.BinOp):
        return is_written_here(node.left) and is_written_here(node.right)
    if isinstance(node, ast.IfExp):
        return is_written_here(node.body) and is_written_here(node.orelse)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def is_format_from_input(call: ast.Call) -> bool:
    """Whether the call fills in a text that does not stand in the code."""
    if not isinstance(call.func, ast.Attribute):
        return False
    owner, name = call.func.value, call.func.attr
    if name in ("format", "format_map"):
        of_base = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
        return not of_base and not is_written_here(owner)
    logs = isinstance(owner, ast.Name) and owner.id in ("log", "logger", "logging")
    return logs and len(call.args) > 1 and not is_written_here(call.args[0])


@pytest.mark.slow
def test_no_text_from_input_is_a_format():
    calls = ((path, call) for path in code_of_ours() for call in calls_with_formats(path))
    assert [f"{path}:{call.lineno}" for path, call in calls if is_format_from_input(call)] == []
    caught = ["sent.format(user)", "form['x'].format_map(facts)", "log.info(sent, user)"]
    assert all(is_format_from_input(ast.parse(line).body[0].value) for line in caught)


def test_nothing_is_called_html_but_what_was_cleaned_or_escaped():
    """Templates escape everything else, such as names and texts of others."""
    called = re.compile(r"\b(?:mark_safe|SafeString)\(|\|\s*safe\b|autoescape off|def __html__")
    files = [*code_of_ours(), *(ROOT / "templates").rglob("*.html")]
    found = {path.relative_to(ROOT).as_posix() for path in files if called.search(path.read_text())}
    cleaned = {"config/help/documents.py", "ratings/presentation/guidelines/markdown.py"}
    rendered = {"evaluation/results/leader.py", "evaluation/page/template_tags/numbers.py"}
    assert found == cleaned | rendered | {
        "ratings/presentation/html.py",
        "templates/_field.html",
        "templates/ratings/_parts.html",
    }


def test_no_script_writes_under_a_name_from_outside():
    """What comes from outside names an entry of a Map, or nothing: else `__proto__` would change every object."""
    risky = re.compile(
        r"(?<!\[\d)\]\s*[-+*/|&?]{0,2}=(?![=>])|__proto__|\bprototype\b|setPrototypeOf|\beval\(|new Function"
    )
    scripts = list((ROOT / "static").rglob("*.js"))
    assert len(scripts) > 20
    written = {path.name: re.sub(r"\b(?:const|let) \[[^]]*\] =", "", path.read_text()) for path in scripts}
    assert {name: found for name, text in written.items() if (found := risky.findall(text))} == {}
    assert all(risky.search(line) for line in ("a[b] = c", "a[b] ??= c", "a[b] += c"))
    assert not risky.search("a[b] === c")


def test_a_message_cannot_make_a_line_of_the_log():
    record = logging.makeLogRecord({"msg": "no %s", "args": ("a\n2026 ERROR root: b\x1b[2J\u2028\x85é",)})
    assert TextFormatter("{message}", style="{").format(record) == r"no a\n2026 ERROR root: b\x1b[2J\u2028\x85é"


def test_a_traceback_keeps_its_lines():
    record = logging.makeLogRecord({"msg": "it failed", "exc_text": "Traceback\n  line"})
    assert TextFormatter("{message}", style="{").format(record) == "it failed\nTraceback\n  line"


def test_a_call_without_tls_is_refused_and_a_page_is_sent_on(settings):
    settings.SECURE_SSL_REDIRECT = True
    call, page = Client().get("/api/v1/collections"), Client().get("/help/")
    assert call.status_code == 403 and "Revoke the token" in call.json()["detail"]
    assert page.status_code == 301 and page["Location"].startswith("https://")


def test_a_password_has_eight_characters_or_more_and_is_not_common():
    for easy, said in [("Zq7!kd-", "too short"), ("iloveyou1", "too common"), ("trustno1", "too common")]:
        with pytest.raises(ValidationError, match=said):
            validate_password(easy)
    validate_password("Zq7!kd-4")


@pytest.mark.parametrize("password", ["8291640375", "qpzmwoxneibc", "ZQXJVKWPLMRB", "%%&&//((=?=?"])
def test_a_password_may_be_of_one_kind_of_signs(password):
    validate_password(password)


def test_a_password_is_taken_as_it_is_and_may_be_long():
    given = "  Ünï cödé\t" + "x" * 200 + "  "
    form = SignUpForm({"username": "", "password": given})
    form.is_valid()
    assert form.cleaned_data["password"] == given
    assert check_password(given, make_password(given)) and not check_password(given.strip(), make_password(given))


def test_passwords_are_kept_by_argon2id():
    usual = import_string(ours.PASSWORD_HASHERS[0])()  # the tests themselves use a faster one
    assert usual.encode("Zq7!kd-4", usual.salt()).startswith("argon2$argon2id$")


def test_logs_have_the_time_of_utc():
    assert time.timezone == 0 and settings.TIME_ZONE == "UTC"


@pytest.mark.django_db
def test_no_other_site_is_allowed_anything():
    for address in ("/", "/help/", "/api/v1/collections"):
        answers = Client().get(address, headers={"Origin": "https://example.net"}), Client().options(address)
        assert not any(name.startswith("Access-Control-") for answer in answers for name in answer.headers)


@pytest.mark.django_db
def test_an_answer_says_what_it_is():
    said = {address: Client().get(address)["Content-Type"] for address in ("/", "/nothing", "/api/v1/collections")}
    html = "text/html; charset=utf-8"
    assert said == {"/": html, "/nothing": html, "/api/v1/collections": "application/problem+json"}


@pytest.mark.django_db
def test_no_folder_is_listed():
    assert [Client().get(f"/static/{folder}").status_code for folder in ("", "desk/", "pictures/")] == [404] * 3


@pytest.mark.django_db
def test_what_answers_before_the_pages_has_a_policy_too(settings):
    settings.SECURE_SSL_REDIRECT = True
    for address in ("/api/v1/collections", "/help/", "/static/site.css"):
        assert "frame-ancestors 'none'" in Client().get(address)["Content-Security-Policy"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/", "/help/", "/accounts/sign-in/", "/static/site.css", "/api/v1/collections"]
)
def test_trace_tells_nobody_what_was_sent(address):
    answer = Client().trace(address, headers={"X-Sent": "a-secret"})
    assert answer.status_code != 200 and b"a-secret" not in answer.getvalue()
