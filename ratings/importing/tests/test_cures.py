"""Every cure that a refusal names on the page of an import is obeyed there, and works: no refusal comes again."""

import ast
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django_tasks_db.management.commands import db_worker

from ratings import formats
from ratings.formats.refusal import Option
from ratings.importing import signs
from ratings.importing.job_pages import refusals_of
from ratings.management.commands.work import work
from ratings.models import Job, Role
from ratings.tests.cast import make_collection, make_member, signed_in

pytestmark = pytest.mark.django_db

FORMATS = Path(formats.__file__).parent
RUN = "query,document,rank,system\n"
RATED = "query,document,grade\n"
# What a person chooses where the cure leaves it open, by the name of the option.
OWN = {"system": "new name", "map": "good=2"}
OPEN = ("before", "format")  # what else is to be imported, and which of all formats it is, the file cannot tell
# What was sent: kind, files. Each refusal that it meets names options.
SENT = [
    ("results", RUN + "q1,a,1,\nq1,b,2,\n"),
    ("results", "q1 Q0 a 1 1 one\n", "q1 Q0 b 1 1 one\n"),
    ("results", "q1 Q0 a 1 1 one\n", "q2 Q0 b 1 1 one\n"),
    ("results", "q1 Q0 a 1 1 s\nq1 Q0 b 2 9 s\n"),
    ("results", "q1 Q0 a 1 2 s\nq1 Q0 a 2 1 s\n"),
    ("results", "q1 0 a 3\n"),
    ("results", "q1 0 a 3 1 2\nq1 0 b 0 1 2\n"),
    ("ratings", "q1 Q0 a 1 3.5 bm25\n"),
    ("ratings", RATED + "q1,a,good\nq1,b,1\n"),
    ("ratings", RATED + "q1,a,1\n,b,1\n"),
    ("ratings", RATED + "q1,a,1\nq1,a,2\n"),
    ("ratings", "Judgments\n" + RATED + "q1,a,1\n"),
    ("ratings", "query,document,Ann,Mean\nq1,a,1,2\n"),
    ("ratings", "query,document,Mean\nq1,a,2\n"),
    ("ratings", "query,document,rater1,Mean\nq1,a,1,2\n"),
    ("ratings", "query,document,rater1,Mean,Sum\nq1,a,1,2,3\n"),
    ("ratings", "q1 0 a 3 1 2\nq1 0 b 0 1 2\n"),
    ("ratings", "q1 0 a 3 0 ann\nq1 0 b 3 0 ann\n"),
    ("ratings", "q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\nq1 Q0 c 3 0 s\n"),
    ("ratings", "query,document,grade,unrateable\nq1,a,1,perhaps\n"),
    ("queries", "Nr;Suche\n1;boots\n2;socks\n"),
    ("queries", "Kennung,query,brand\nx1,boots,A\nx2,socks,B\n"),
    ("queries", "query,need\nboots,one\nboots,two\n"),
    ("documents", "Ding,Wort\na,One\nb,Two\n"),
    ("documents", 'id\ttitle\na\t"Brown boot, he said.\nb\tRain\n'),
    ("documents", "query,id,title\nq1,a,One\nq2,a,Two\n"),
    ("documents", "Suche,id,title\nboots,a,One\nsocks,a,One\n"),
]


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path, monkeypatch) -> None:
    settings.DATA_DIR = tmp_path
    signs.show_worker()
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)


def checked(client: Client, address: str, data: dict) -> Job:
    assert client.post(f"/collections/hills/import/{address}", data).status_code == 302
    work()
    return Job.objects.first()


def fields_of(client: Client, job: Job) -> dict[str, str]:
    """What the form of the page would send as it stands, and the name of its select above each column."""
    form = client.get(f"/collections/hills/import/{job.pk}/").context["form"]
    above = {name: field.html_name for name, field in form.columns}
    return {field.html_name: field.value() or "" for field in form}, above


def obeyed(client: Client, job: Job, option: Option) -> Job:
    """The job after its page was filled in as the option says."""
    sent, above = fields_of(client, job)
    if option.name == "kind":
        sent = {"kind": {"qrels": "ratings"}.get(option.value, option.value)}
    elif option.name == "columns":
        if len(option.value) > 1:  # the page then shows the columns of a table without a header
            job = obeyed(client, job, Option("header", "no"))
            sent, above = fields_of(client, job)
        held = {role: name for role, name in option.value.items() if name is not None}
        sent = {name: value for name, value in sent.items() if value not in held}
        for role, names in held.items():
            sent |= {above[name]: role for name in names.split("|") if name in above}
    else:
        value = OWN.get(option.name) if option.value is None else option.value
        sent[option.name] = OWN["map"] if isinstance(value, dict) else "on" if value is True else value
    return checked(client, f"{job.pk}/check/", sent)


@pytest.mark.parametrize("sent", SENT, ids=[files[0].partition("\n")[0] for _, *files in SENT])
def test_every_cure_works(sent):
    client = signed_in(make_member(make_collection(), "ada", Role.ADMIN))
    kind, *texts = sent

    def job() -> Job:
        files = [SimpleUploadedFile(f"f{n} x", text.encode()) for n, text in enumerate(texts)]
        return checked(client, "send/", {"kind": kind, "files": files})

    options = [option for refusal in refusals_of(job()) for option in refusal.options if option.name not in OPEN]
    assert options
    for option in options:
        if option.name == "columns" and None in option.value.values():
            continue  # the page asks for them above the columns
        after = [refusal.options for refusal in refusals_of(obeyed(client, job(), option)) if refusal.options]
        assert not any(option in options for options in after)
        # In a circle: the only way out is to take the choice back.
        assert option.name == "columns" or not any({each.name for each in ways} == {option.name} for ways in after)


# Cures that the files above do not meet, by name and reason, and the tests that obey them.
ELSEWHERE = {
    ("columns", "each line is one search"): "formats/tests/test_searches.py",
    ("columns", "it is the second"): "formats/tests/test_searches.py",
    ("columns", "one of them holds the text"): "importing/tests/test_strangers.py",
    ("encoding", "it is CSV of Excel"): "importing/tests/test_imports_page.py",
    ("encoding", "it is text in another encoding"): "importing/tests/test_import_formats.py",
    ("header", "row * names the columns"): "importing/tests/test_strangers.py",
    ("header", "the first line is a row"): "importing/tests/test_strangers.py",
    ("sheet", ""): "formats/tests/test_xlsx.py",
}


def cures_in_code() -> set[tuple[str, str]]:
    """(name, reason) of each Option that the code writes, the parts of a reason that are filled in as *."""

    def texts(node: ast.expr) -> str:
        if isinstance(node, ast.JoinedStr):
            return "".join(map(texts, node.values))
        return str(node.value) if isinstance(node, ast.Constant) else "*"

    calls = [
        node
        for path in FORMATS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Option" and node.args
    ]
    reasons = [[*call.args[2:], *(each.value for each in call.keywords if each.arg == "when")] for call in calls]
    return {
        (texts(call.args[0]), texts(reason[0]) if reason else "")
        for call, reason in zip(calls, reasons, strict=True)
    }


def test_every_cure_in_code_is_obeyed_here_or_in_a_named_test():
    client, met = signed_in(make_member(make_collection(), "ada", Role.ADMIN)), set()
    for kind, *texts in SENT:
        files = [SimpleUploadedFile(f"f{n} x", text.encode()) for n, text in enumerate(texts)]
        for refusal in refusals_of(checked(client, "send/", {"kind": kind, "files": files})):
            met |= {(option.name, option.when) for option in refusal.options}
    unmet = {
        (name, reason)
        for name, reason in cures_in_code()
        if not any(name == own and fnmatchcase(when, reason) for own, when in met)
    }
    assert unmet == ELSEWHERE.keys()
    assert all((FORMATS.parent / path).is_file() for path in ELSEWHERE.values())
