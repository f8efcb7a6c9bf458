"""Build the wheel and use it as somebody who has nothing else: serve, rate a pair, evaluate. .ci/run runs it.

It needs the package index, and no test of the suite needs a network.
"""

import email
import json
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[2]
UV = [sys.executable, "-m", "uv", "--quiet"]
QUERIES = "q1\tred shoes\n"
RUN = "q1 Q0 d1 1 2 bm25\nq1 Q0 d2 2 1 bm25\n"
# The packages for programs: their folder, and what each does in an environment that has nothing else.
PACKAGES = {
    "idealist_client": (
        "client",
        "from idealist_client import Idealist; Idealist('http://127.0.0.1', 'x').close()",
    ),
    "idealist_measures": (
        "evaluation/measures",
        "from idealist_measures import calc; assert calc(['P@1'], {'q': {'d': 1}}, {'q': {'d': 1.0}})",
    ),
}
OF_NO_SERVER = {"pytest", "pytest-django", "pip", "setuptools", "hatchling"}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="idealist-wheel-") as folder:
        subprocess.run([*UV, "build", "--wheel", "--out-dir", folder, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        check_content(wheel)
        Path(folder, "queries.tsv").write_text(QUERIES)
        Path(folder, "bm25.run").write_text(RUN)
        Installed(wheel).use()
        for name, (source, code) in PACKAGES.items():
            subprocess.run([*UV, "build", "--wheel", "--out-dir", folder, str(ROOT / source)], check=True)
            (package,) = Path(folder).glob(f"{name}-*.whl")
            alone = [*UV, "run", "--no-project", "--isolated", "--with", str(package), "python", "-c", code]
            subprocess.run(alone, cwd=folder, check=True)
    print(f"passed: the wheel, {wheel.name}, and {' and '.join(PACKAGES)}")


def check_content(wheel: Path) -> None:
    """It has one package without tests, and asks for what requirements.txt and the locks do."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        (metadata,) = (file.read(name).decode() for name in names if name.endswith("/METADATA"))
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"idealist"}
    assert not [name for name in names if "/tests/" in name]
    fields = email.message_from_string(metadata)
    needed = [line for line in fields.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(needed) > 25 and not {line.partition("==")[0] for line in needed} & OF_NO_SERVER
    assert fields.get_all("Provides-Extra") == ["locked", "machines"]


class Installed:
    """The program of the wheel, in an environment that uv makes for it, with data in the folder of a user."""

    def __init__(self, wheel: Path) -> None:
        self.program = [*UV, "tool", "run", "--from", str(wheel), "idealist"]
        names = ("DATABASE_URL", "IDEALIST_DATA", "IDEALIST_HOSTS", "IDEALIST_DEMO", "PYTHONPATH")
        own = {name: value for name, value in os.environ.items() if name not in names}
        self.how = {"cwd": wheel.parent, "env": own | {"XDG_DATA_HOME": str(wheel.parent)}, "text": True}

    def use(self) -> None:
        self.say("manage", "create_collection", "shop", "--grades", "0:Irrelevant,1:Related,2:Good")
        assert sys.platform == "darwin" or (self.how["cwd"] / "idealist" / "db.sqlite3").exists()
        self.say("manage", "import_queries", "shop", "queries.tsv")
        self.say("manage", "import_run", "shop", "bm25.run")
        self.say("manage", "pool", "shop", "--depth", "1")
        self.say("manage", "add_member", "shop", "robin", "rater")
        key = self.say("manage", "create_token", "shop", "robin", "--scope", "rate").strip()
        with self.served() as site:
            assert "Idealist" in urlopen(site).read().decode()
            in_german = Request(f"{site}accounts/sign-in/", headers={"Accept-Language": "de"})
            assert "Benutzername" in urlopen(in_german).read().decode()
            assert "idealist manage" in urlopen(f"{site}help/operating/").read().decode()
            rate(f"{site}api/v1/collections/shop", key)
        (result,) = json.loads(self.say("evaluate", "shop", "--measure", "nDCG@1", "--format", "json"))["results"]
        assert (result["mean"], result["queries"]) == (1.0, 1), result

    def say(self, *arguments: str) -> str:
        done = subprocess.run([*self.program, *arguments], stdout=subprocess.PIPE, check=True, **self.how)
        return done.stdout

    @contextmanager
    def served(self) -> Iterator[str]:
        """The address of the server, which `idealist` prints first."""
        command = [*self.program, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, **self.how) as server:
            try:
                yield next(word for word in server.stdout.readline().split() if word.startswith("http"))
            finally:
                os.killpg(server.pid, signal.SIGTERM)


def rate(collection: str, key: str) -> None:
    """Give the one pair of the pool the highest grade."""

    def asked(path: str, body: dict) -> dict:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        with urlopen(Request(f"{collection}/{path}", json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)

    (task,) = asked("tasks", {"count": 1})["tasks"]
    rating = {"token": task["token"], "key": str(uuid4()), "base_revision": task["base_revision"], "grade": 2}
    (result,) = asked("my-ratings", {"ratings": [rating]})["results"]
    assert result["saved"], result


if __name__ == "__main__":
    main()
