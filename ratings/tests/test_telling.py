"""Whether a rater can tell gold, repeats and extras from what they are sent: a classifier tries to.

Raters work through the real views, by script and by plain pages, and probe: they put off, undo, change, stop and
send late. All that they are sent is turned into features, but for what a repeat says by its nature: that its text
was there before. How long answers take is left out. Some 150 tasks are done; with
IDEALIST_TELLING_TASKS so many.
"""

import json
import os
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from ratings import queue
from ratings.desk import content as shown
from ratings.models import Anchor, Assignment, Check, Collection, Document, Pair, Rating
from ratings.queue import mixing

from .cast import NOW, grade, make_rater, make_round
from .test_queue_batches import make_pool

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ERRORS = 4  # standard deviations of an AUC that tells nothing
PERMUTED = 8  # times
TREES = 12  # with as few, the two counts that tell are still found
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
WORDS = ["stream", "hill", "rain", "path", "stone", "tent", "map", "boot"]
USUAL, CONTROL, TASKS = 150, 100, 50  # tasks in all, in all where the classifier must find something, of a world
ORDERS = ("random", "query", "depth")
WITH_ROUNDS = ("decisive",)


@dataclass
class Seen:
    """What a rater knows of one task: each number a feature by its name."""

    token: str
    facts: dict[str, float] = field(default_factory=dict)


def make_world(number: int) -> Collection:
    """Pairs with texts of one kind. Others rated half of them once already, and most of the gold often enough."""
    chance = random.Random(number)
    collection = make_pool(ORDERS[number % len(ORDERS)], queries=20, documents=24, wanted=2)
    documents = list(collection.documents.all())
    for document in documents:
        document.body = " ".join(chance.choices(WORDS, k=chance.randint(5, 60)))
    Document.objects.bulk_update(documents, ["body"])
    pairs = list(Pair.objects.filter(query__collection=collection).select_related("query"))
    golds = chance.sample(pairs, 90)
    for pair in golds:
        Anchor.objects.create(pair=pair, use="gold", grade=grade(collection, "0"), created_at=NOW)
    others = [make_rater(collection, name) for name in ("bob", "carol")]
    filled = {pair.pk: 2 for pair in golds[:60]}
    filled |= {pair.pk: 1 for pair in chance.sample(pairs, len(pairs) // 2) if pair.pk not in filled}
    rows: dict[int, list[Assignment]] = {}
    for row in Assignment.objects.filter(collection=collection):
        rows.setdefault(row.pair_id, []).append(row)
    done, ratings, one = [], [], grade(collection, "1")
    for pair in pairs:
        for row, rater in zip(rows[pair.pk][: filled.get(pair.pk, 0)], others, strict=False):
            row.rater, row.state = rater, "done"
            done.append(row)
            facts = {
                "query_id": pair.query_id,
                "document_id": pair.document_id,
                "created_at": NOW,
                "changed_at": NOW,
            }
            ratings.append(Rating(pair=pair, rater=rater, grade=one, **facts))
    Assignment.objects.bulk_update(done, ["rater", "state"])
    Rating.objects.bulk_create(ratings)
    if collection.order in WITH_ROUNDS:
        draw = draw_rounds if collection.order == "decisive" else draw_rounds_at_random
        draw(collection, pairs, chance)
    Collection.objects.filter(pk=collection.pk).update(gold_share="0.12", repeat_share="0.12")
    return collection


def draw_rounds(collection: Collection, pairs: list[Pair], chance: random.Random) -> None:
    """Three rounds of some queries with some documents each, a third of them chosen for certain."""
    left = list(pairs)
    for _ in range(3):
        queries = set(chance.sample(sorted({pair.query_id for pair in left}), 7))
        some = chance.sample([pair for pair in left if pair.query_id in queries], 36)
        make_round(collection, some, greedy=12)
        left = [pair for pair in left if pair not in some]


def draw_rounds_at_random(collection: Collection, pairs: list[Pair], chance: random.Random) -> None:
    """Two rounds, each of a tenth of what nobody rated and is not gold; beside it a tenth of the rest."""
    rated = set(Rating.objects.values_list("pair", flat=True)) | set(Anchor.objects.values_list("pair", flat=True))
    left = [pair for pair in pairs if pair.pk not in rated]
    others = [pair for pair in pairs if pair.pk in rated]
    for _ in range(2):
        some = chance.sample(left, len(left) // 10)
        make_round(collection, some, beside=[pair for pair in others if chance.random() < 0.1])
        left = [pair for pair in left if pair not in some]


class Attacker:
    """A rater who writes down all that they are sent."""

    def __init__(self, collection: Collection, number: int, *, probes: bool = True) -> None:
        self.probes = probes
        self.chance = random.Random(1_000 + number)
        make_rater(collection)
        self.client = Client(headers={"Accept-Encoding": "identity"})
        self.client.force_login(get_user_model().objects.get(username="alice"))
        self.seen: dict[str, Seen] = {}
        self.asked = 0
        self.counts: list[float] = [0, 0, 0]
        self.order: list[str] = []
        self.queries: list[str] = []

    # What is sent

    def send(self, name: str, *arguments, page: bool = False, **data):
        headers = {} if page else {"Accept": "application/json"}
        answer = self.client.post(reverse(name, args=["hills", *arguments]), data, headers=headers)
        self.asked += 1
        return answer

    def note(self, token: str, about: str, answer) -> None:
        """What an answer is like: its form without texts and tokens, its size, its headers."""
        text = UUID.sub("U", answer.content.decode())
        facts = self.seen[token].facts
        facts[f"{about} status"] = answer.status_code
        facts[f"{about} headers"] = crc32(repr(sorted(set(answer.headers) - {"Set-Cookie"})).encode()) % 997
        facts[f"{about} cookies"] = len(answer.cookies)
        if answer.headers["Content-Type"].startswith("application/json"):
            facts[f"{about} form"] = crc32(text.encode()) % 997
            facts[f"{about} size"] = len(text)

    def told(self, outlook: dict) -> list[float]:
        """How far done, total and left went since they were told last, and whether their sum did."""
        left = float(re.search(r"\d+", outlook["left"])[0])
        now = [outlook["done"], outlook["total"], left]
        moved = [new - old for new, old in zip(now, self.counts, strict=True)]
        self.counts = now
        return [*moved, moved[0] + moved[2]]

    def claim(self, count: int) -> list[dict]:
        answer = self.send("claim", count=count, outlook="1").json()
        moved = self.told(answer["outlook"])
        new = [task for task in answer["tasks"] if task["token"] not in self.seen]
        for task in answer["tasks"]:
            place = answer["order"].index(task["token"])
            if task["token"] in self.seen:
                self.seen[task["token"]].facts["came back"] = len(self.seen)
                continue
            self.meet(task, place)
            facts = self.seen[task["token"]].facts
            facts |= {f"claim {part}": step for part, step in zip("dtls", moved, strict=True)}
            if len(new) == 1:
                facts["sum by one"] = moved[-1]
            facts |= {"new": len(new), "held": len(answer["order"]), "last": place == len(answer["order"]) - 1}
        self.order = answer["order"]
        return answer["tasks"]

    def meet(self, task: dict, place: int) -> None:
        token = task["token"]
        text = json.dumps(task | {"query": 0, "document": 0})
        hexed = token.replace("-", "")
        self.seen[token] = Seen(token, {"at": len(self.seen), "place": place, "size": len(text)})
        facts = self.seen[token].facts
        facts |= {f"digit {i}": int(hexed[i], 16) for i in (0, 7, 12, 16, 31)}
        facts |= {
            "comment": len(task["comment"]),
            "revision": task["base_revision"],
            "own": task["own"] is not None,
        }
        facts["fields"] = crc32(repr(sorted(task)).encode()) % 997
        # Where it stands among the documents of its query.
        same = self.queries[-1:] == [task["query"]["text"]]
        facts["of the same query"] = same
        self.queries.append(task["query"]["text"])

    def save(self, token: str, revision: int = 0, **said):
        said = said or {"grade": self.chance.choice(["-1", "0", "1", "2", "3"])}
        return self.send("save_rating", token, base_revision=revision, seconds=5, **said)

    # What is done

    def work(self, tasks: int, page: bool) -> None:
        while len(self.seen) < tasks:
            held = self.by_page() if page else self.by_script()
            if not held:
                return

    def by_script(self) -> bool:
        if self.chance.random() < 0.2 and self.probes:
            self.claim(self.chance.choice([6, 11]))
        else:  # one more than is held: what a claim brings can then be told of one document
            for _ in range(self.chance.choice([1, 2, 3])):
                self.claim(min(20, len(self.order) + 1))
        for token in self.order[: -(-len(self.order) // 2)]:
            self.probe(token, self.chance.random() if self.probes else 1)
            if self.chance.random() < 0.4:
                self.claim_after(token)
        return bool(self.order)

    def probe(self, token: str, chance: float) -> None:
        """Most are rated; with some a rater sees what else can be done."""
        facts = self.seen[token].facts
        if chance < 0.08:
            self.send("skip_pair", token)
            if chance < 0.04:
                self.back("skipped", token)
                self.note(token, "save", self.save(token))
        elif chance < 0.14:
            self.note(token, "cannot", self.save(token, reason="unclear"))
            if chance < 0.11:
                self.back("cannot", token)
                self.note(token, "save", self.save(token))
            else:
                self.note(token, "changed", self.save(token, 1))
        elif chance < 0.2:
            self.note(token, "save", self.save(token))
            self.back("rated", token)
            again = self.save(token)
            self.note(token, "again", again)
            self.note(token, "more", self.save(token, again.json()["revision"]))
        elif chance < 0.24:
            self.send("stop_rating")
            self.note(token, "late", self.save(token))
            self.back("late", token)
            self.note(token, "late again", self.save(token))
        else:
            self.note(token, "save", self.save(token))
        if chance < 0.3:
            answer = self.client.get(reverse("rate_pair", args=["hills", token]))
            facts["shown again"] = len(re.findall("aria-pressed", answer.content.decode()))

    def back(self, about: str, token: str) -> None:
        """Undo, and see whether it is before the rater again."""
        answer = self.send("undo_rating")
        self.note(token, f"undo {about}", answer)
        facts = self.seen[token].facts
        facts[f"undo {about} revision"] = answer.json().get("revision", -1)
        order = self.send("claim", count=1).json()["order"]
        facts[f"undo {about} place"] = order.index(token) if token in order else -1
        facts[f"undo {about} held"] = len(order) - len(self.order)

    def claim_after(self, token: str) -> None:
        before = len(self.order)
        outlook = self.send("claim", count=1, outlook="1").json()
        facts = self.seen[token].facts
        moved = self.told(outlook["outlook"])
        facts |= {f"after {part}": step for part, step in zip("dtls", moved, strict=True)}
        facts["after held"] = len(outlook["order"]) - before
        self.order = outlook["order"]

    def by_page(self) -> bool:
        before = self.counts
        self.send("claim", page=True)
        page = self.client.get(reverse("rate", args=["hills"]))
        found = re.search(r'<script id="desk-data"[^>]*>(.*?)</script>', page.content.decode(), re.DOTALL)
        if not found:
            return False
        desk = json.loads(found[1])
        (task, *_) = desk["tasks"]
        token = task["token"]
        if token not in self.seen:
            self.meet(task, 0)
        facts = self.seen[token].facts
        moved = self.told(desk["outlook"])
        facts |= {f"claim {part}": step for part, step in zip("dtls", moved, strict=True)}
        bar = [int(n) for n in re.findall(r'<progress max="(\d+)" value="(\d+)"', page.content.decode())[0]]
        facts |= {"bar": bar[0] - before[1], "bar done": bar[1] - before[0], "held": len(desk["tasks"])}
        body = sum(len(json.dumps(part)) for part in (task["document"], task["query"]))
        facts["page without texts"] = len(page.content) - 2 * body
        if self.chance.random() < 0.1:
            self.send("skip_pair", token, page=True)
        else:
            answer = self.send("save_rating", token, page=True, grade="1", base_revision=0)
            self.note(token, "page save", answer)
        home = re.search(
            r"<b>(\d+)</b> rated,? ?(?:\w+ \w+ )?(\d+)?", self.client.get(reverse("home")).content.decode()
        )
        facts["home"] = (int(home[1]) + int(home[2] or 0) if home else 0) - sum(self.counts[::2])
        return True

    def look_back(self) -> None:
        """What is told of everything afterwards: one's own ratings, and all that is kept about one."""
        listed: list[str] = []
        pages = reverse("my_ratings", args=["hills"])
        first = self.client.get(pages).content.decode()
        last = max([1, *map(int, re.findall(r"\?page=(\d+)", first))])
        for page in range(1, last + 1):
            listed += re.findall(
                rf"/rate/({UUID.pattern})/", self.client.get(pages, {"page": page}).content.decode()
            )
        kept = json.loads(b"".join(self.client.get(reverse("my_data")).streaming_content))
        for token, one in self.seen.items():
            rated = [row for row in kept["ratings"] if row["token"] == token]
            events = [row for row in kept["events"] if row["token"] == token]
            one.facts |= {"listed": listed.count(token), "kept": len(rated), "events": len(events)}
            if rated:
                one.facts["changed"] = rated[0]["created_at"] != rated[0]["changed_at"]
                one.facts["kept form"] = crc32(repr(sorted(rated[0])).encode()) % 997
            kinds = Counter(row["kind"] for row in events)
            one.facts |= {f"events {kind}": n for kind, n in kinds.items()}


def labels(collection: Collection) -> dict[str, set[str]]:
    """What the rater must not know, by token."""
    pairs = Pair.objects.filter(query__collection=collection)
    extra = Assignment.objects.filter(rater__name="alice", extra=True).values("pair")
    others = Rating.objects.filter(rater__name="bob").values("pair")
    sets = {
        "gold": pairs.filter(anchor__use="gold").values_list("token", flat=True),
        "extra": pairs.filter(pk__in=extra).values_list("token", flat=True),
        "repeat": Check.objects.filter(kind="repeat").values_list("token", flat=True),
        "second": pairs.filter(pk__in=others, anchor=None).values_list("token", flat=True),
        "drawn": pairs.filter(drawn__isnull=False).values_list("token", flat=True),
        "greedy": pairs.filter(drawn__kind="greedy").values_list("token", flat=True),
    }
    found = {name: set(map(str, tokens)) for name, tokens in sets.items()}
    return found | {"beside": found["extra"] | found["repeat"]}


def play(tasks: int, monkeypatch, *, probes: bool = True) -> list[tuple[int, str, dict[str, float], set[str]]]:
    """(world, order, facts, what it is) of each task, in worlds of so many."""
    monkeypatch.setattr(mixing, "REPEAT_AFTER", 5)
    found = []
    for number in range(-(-tasks // TASKS)):
        # The same each time, and another in each world: raters of two worlds may have the same primary key.
        with transaction.atomic(), override_settings(SECRET_KEY=f"the secret of world {number}"):
            random.seed(number)  # the lots
            found += play_world(number, probes)
            transaction.set_rollback(True)
    return found


def play_world(number: int, probes: bool) -> list[tuple[int, str, dict[str, float], set[str]]]:
    collection = make_world(number)
    attacker = Attacker(collection, number, probes=probes)
    attacker.work(TASKS, page=number % 4 == 3)
    attacker.look_back()
    kinds = labels(collection)
    # No repeat comes among the first.
    return [
        (number, collection.order, one.facts, {kind for kind, tokens in kinds.items() if token in tokens})
        for token, one in list(attacker.seen.items())[10:]
    ]


class Table(NamedTuple):
    """Tasks as a classifier reads them."""

    x: np.ndarray  # (n_tasks, n_features)
    y: np.ndarray  # (n_tasks,), whether a task is of the kind
    worlds: np.ndarray  # (n_tasks,)


def table(rows: list, kind: str) -> Table:
    # A query that comes again says by itself that its document is a repeat, as its text does.
    if kind in ("repeat", "beside"):
        rows = [row for row in rows if row[1] not in ("query", "decisive")]
    else:
        rows = [row for row in rows if "repeat" not in row[3]]
    if kind == "second":
        rows = [row for row in rows if "gold" not in row[3]]
    if kind == "extra":
        rows = [row for row in rows if "gold" not in row[3] or "extra" in row[3]]
    if kind == "greedy":  # what is drawn comes before the rest: that is no secret
        rows = [row for row in rows if "drawn" in row[3]]
    names = sorted({name for _, _, facts, _ in rows for name in facts})
    x = np.array([[facts.get(name, -99) for name in names] for _, _, facts, _ in rows], dtype=float)
    y = np.array([kind in kinds for *_, kinds in rows])
    return Table(x, y, np.array([world for world, *_ in rows]))


def auc(tasks: Table) -> float:
    """How well a classifier that learned in other worlds tells the kind."""
    x, y, worlds = tasks
    said = np.zeros(len(y))
    for learn, tell in GroupKFold(min(5, len(set(worlds)))).split(x, y, worlds):
        trees = ExtraTreesClassifier(
            TREES, max_features=0.5, min_samples_leaf=3, class_weight="balanced", random_state=0
        )
        said[tell] = trees.fit(x[learn], y[learn]).predict_proba(x[tell])[:, 1]
    return within(y, said, worlds)


def by_chance(tasks: Table) -> tuple[float, float]:
    """Mean and standard deviation of the AUC where nothing can be told: with the kinds of a world permuted.

    The error of a single AUC is half as large, because a classifier learns from all tasks at once.
    """
    chance, areas = np.random.default_rng(0), []
    for _ in range(PERMUTED):
        y = tasks.y.copy()
        for world in set(tasks.worlds):
            here = tasks.worlds == world
            y[here] = chance.permutation(y[here])
        areas.append(auc(tasks._replace(y=y)))
    return float(np.mean(areas)), float(np.std(areas, ddof=1))


def within(y: np.ndarray, said: np.ndarray, worlds: np.ndarray) -> float:
    """AUC over pairs of tasks of one world: that gold is rarer in some order tells nobody which document it is."""
    area = weight = 0.0
    for world in set(worlds):
        here = worlds == world
        yes, no = int(y[here].sum()), int((~y[here]).sum())
        if yes and no:
            area += yes * no * roc_auc_score(y[here], said[here])
            weight += yes * no
    return area / weight


def test_nobody_can_tell_gold_repeats_and_extras(monkeypatch, capsys):
    rows = play(int(os.environ.get("IDEALIST_TELLING_TASKS", USUAL)), monkeypatch)
    tables = {kind: table(rows, kind) for kind in ("gold", "extra", "repeat", "beside", "second")}
    found = {kind: (auc(tasks), *by_chance(tasks)) for kind, tasks in tables.items()}
    if "IDEALIST_TELLING_TASKS" in os.environ:
        with capsys.disabled():
            for kind, (area, mean, error) in found.items():
                count = f"{tables[kind].y.sum()} of {len(tables[kind].y)}"
                print(f"{kind}: {count}, AUC {area:.3f}, by chance {mean:.3f} ± {error:.3f}")
    for kind, (area, mean, error) in found.items():
        assert area < mean + ERRORS * error, (kind, area, mean, error)


def test_nobody_can_tell_what_was_chosen_for_certain_from_what_was_drawn_nor_gold_in_rounds(monkeypatch):
    monkeypatch.setitem(globals(), "ORDERS", ("decisive",))
    rows = play(USUAL, monkeypatch)
    for kind in ("gold", "extra", "greedy"):
        tasks = table(rows, kind)
        area, (mean, error) = auc(tasks), by_chance(tasks)
        assert 5 < tasks.y.sum() < len(tasks.y) - 5
        assert area < mean + ERRORS * error, (kind, area, mean, error)


def test_nobody_can_tell_gold_repeats_and_extras_in_rounds_at_random(monkeypatch):
    monkeypatch.setitem(globals(), "ORDERS", ("random",))
    monkeypatch.setitem(globals(), "WITH_ROUNDS", ("random",))
    rows = play(USUAL, monkeypatch)
    for kind in ("gold", "extra", "repeat"):
        tasks = table(rows, kind)
        area, (mean, error) = auc(tasks), by_chance(tasks)
        assert area < mean + ERRORS * error, (kind, area, mean, error)


def test_a_count_that_rises_by_what_was_chosen_for_certain_would_be_seen(monkeypatch):
    def leaking(outlook: queue.Outlook) -> dict:
        rows = Assignment.objects.filter(rater__name="alice", extra=False)
        greedy = rows.filter(pair__drawn__kind="greedy").count()
        return {**shown_before(outlook), "left": f"about {1_000 + 2 * greedy - rows.count()}"}

    shown_before = shown.outlook_json
    for module in ("ratings.views.acts", "ratings.views.rate"):
        monkeypatch.setattr(f"{module}.outlook_json", leaking)
    monkeypatch.setitem(globals(), "ORDERS", ("decisive",))
    assert auc(table(play(CONTROL, monkeypatch, probes=False), "greedy")) > 0.8


def test_a_count_that_rises_by_what_is_held_would_be_seen(monkeypatch):
    """The twin: with the counts of what is held, the classifier finds what is beside the wanted pairs."""

    def leaking(outlook: queue.Outlook) -> dict:
        alice = {"rater__name": "alice"}
        beside = Assignment.objects.filter(**alice, extra=True, state="leased").count()
        beside += Check.objects.filter(**alice, event=None, turn__isnull=False).count()
        wanted = Assignment.objects.filter(**alice, extra=False, state="done").count()
        return {**shown_before(outlook), "left": f"about {1_000 + beside - wanted}"}

    shown_before = shown.outlook_json
    for module in ("ratings.views.acts", "ratings.views.rate"):
        monkeypatch.setattr(f"{module}.outlook_json", leaking)
    monkeypatch.setitem(globals(), "ORDERS", ("random", "depth"))
    assert auc(table(play(CONTROL, monkeypatch, probes=False), "beside")) > 0.8
