"""Notices: what is noted and once, how webhooks and mail arrive, and how they are ended."""

import base64
import hashlib
import hmac
import json
import re
from datetime import timedelta

import pytest
from django.core import mail as outbox
from django.core import signing
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratings.models import AllowedHost, Anchor, Delivery, Job, MachineGrade, Notice, Pair, Receiver, Role
from ratings.notices import delivering, gathering, reminding, webhooks
from ratings.notices.delivering import MINUTES_TO_NEXT_TRY
from ratings.tests.cast import (
    Imported,
    grade,
    make_asked,
    make_collection,
    make_member,
    make_pair,
    make_rater,
    make_round,
    record_imported,
    signed_in,
    text,
)
from ratings.web import language

pytestmark = pytest.mark.django_db

LATER = timedelta(days=3)


@pytest.fixture(autouse=True)
def _allowed(settings) -> None:
    settings.PULL_HOSTS = ["127.0.0.1/32"]


@pytest.fixture
def shop(db):
    return make_collection()


def failed_import(collection) -> Job:
    facts = {
        "kind": "documents",
        "files": [{"name": "shop.csv"}],
        "state": "failed",
        "message": "The file is gone.",
    }
    return Job.objects.create(collection=collection, ended_at=timezone.now(), **facts)


def webhook(collection, address: str, *kinds: str) -> Receiver:
    long_ago = timezone.now() - LATER
    facts = {"kinds": list(kinds) or ["import.failed"], "created_at": long_ago}
    return Receiver.objects.create(collection=collection, address=address, **facts)


def due_again() -> None:
    Delivery.objects.filter(state="waiting").update(next_at=timezone.now())


def noted(collection, kind: str) -> list[Notice]:
    """The notices of this kind, after the sources were asked again."""
    gathering.gather_of(collection)
    return list(collection.notices.filter(kind=kind))


# What is noted


def test_an_import_that_fails_is_noted_once(shop):
    job = failed_import(shop)
    assert gathering.gather() == 1 and gathering.gather() == 0
    (notice,) = Notice.objects.all()
    assert notice.text == "The import of documents from shop.csv failed. The file is gone."
    assert notice.path == reverse("import_job", args=["hills", job.pk])


def test_the_end_of_the_rating_is_noted_again_only_after_more(shop):
    pair, _ = make_rated_pair_in(shop)
    assert gathering.gather() == 1 and Notice.objects.get().text == "All 1 wanted ratings are given."
    assert gathering.gather() == 0
    make_pair(shop, "q2")
    assert gathering.gather() == 0  # something waits


def test_what_still_holds_is_not_noted_anew_once_notices_are_forgotten(shop):
    make_rated_pair_in(shop)
    failed_import(shop)
    assert gathering.gather() == 2
    Notice.objects.update(at=timezone.now() - gathering.NOTICES_KEPT_FOR - LATER)
    gathering.forget_old()
    assert [notice.kind for notice in Notice.objects.all()] == ["rating.finished"]
    Job.objects.update(ended_at=timezone.now() - LATER)
    assert gathering.gather() == 0


def make_rated_pair_in(collection):
    from ratings.desk import queue

    pair, rater = make_pair(collection), make_rater(collection)
    (task,) = queue.claim(rater)
    sent = {"grade": grade(collection, "3"), "base_revision": 0, "client_key": "1" * 32}
    queue.save(rater, task, queue.Submission(**sent))
    return pair, rater


def test_a_round_is_noted_once(shop, monkeypatch):
    made = make_round(shop, [make_pair(shop)])
    monkeypatch.setattr(gathering, "LOOK_BACK", timezone.now() - made.created_at + LATER)
    assert gathering.gather_of(shop) == 1 and gathering.gather_of(shop) == 0
    notice = Notice.objects.get()
    assert (notice.kind, notice.text) == ("round.drawn", "Round 1 was drawn.")
    assert notice.path == reverse("overview", args=["hills"])


def answer_gold(shop, rater, grades: str) -> None:
    """Let the rater grade further gold pairs, whose grade is 3, one after the other."""
    pairs = list(shop_pairs(shop).exclude(ratings__rater=rater))[: len(grades)]
    for pair, value in zip(pairs, grades, strict=True):
        row = Imported(pair.query_id, pair.document_id, grade(shop, value))
        record_imported(rater, [row], at=timezone.now())


def shop_pairs(shop):
    return Pair.objects.filter(query__collection=shop).order_by("pk")


@pytest.fixture
def golden(db):
    """A collection with 40 gold pairs."""
    shop = make_collection(queries=[f"q{number}" for number in range(10)])
    long_ago = timezone.now() - LATER
    for number in range(10):
        for document in "abcd":
            pair = make_pair(shop, f"q{number}", document)
            Anchor.objects.create(pair=pair, use="gold", grade=grade(shop, "3"), created_at=long_ago)
    return shop


def test_a_rater_who_begins_to_miss_known_grades_is_noted_once_however_good_before(golden):
    rater = make_rater(golden)
    answer_gold(golden, rater, "3" * 20 + "0" * 8)  # 12 of the last 20 are right, which is just enough
    assert noted(golden, "rater.gold") == []
    answer_gold(golden, rater, "0")
    (notice,) = noted(golden, "rater.gold")
    assert notice.text == "alice has 11 of the last 20 known grades right." and gathering.gather_of(golden) == 0
    assert notice.path == reverse("rater", args=["hills", rater.pk])
    answer_gold(golden, rater, "0")  # the thirtieth
    assert len(noted(golden, "rater.gold")) == 2


@pytest.mark.parametrize("grades", ["0" * 9, "0" * 8 + "3" * 20])
def test_a_rater_who_was_asked_little_or_became_better_is_not_noted(golden, grades):
    answer_gold(golden, make_rater(golden), grades)
    assert noted(golden, "rater.gold") == []


def test_a_judge_that_begins_to_answer_otherwise_is_noted_once(golden):
    pairs = list(shop_pairs(golden))
    run = make_asked(golden, *pairs)

    def ask_again(repeat: int, asked: list[Pair], value: int) -> None:
        facts = {"run": run, "version": run.version, "state": "graded", "tries": 1, "at": timezone.now()}
        MachineGrade.objects.bulk_create(
            MachineGrade(query_id=pair.query_id, document_id=pair.document_id, value=value, repeat=repeat, **facts)
            for pair in asked
        )

    for repeat in (2, 3):
        ask_again(repeat, pairs, 3)
    ask_again(4, pairs[:10], 0)  # 40 of the last 50 are the same, which is just enough
    assert noted(golden, "judge.drifted") == []
    ask_again(4, pairs[10:11], 0)
    (notice,) = noted(golden, "judge.drifted")
    assert notice.text == "llama gave the same grade again to 39 of the last 50 pairs."
    assert gathering.gather_of(golden) == 0
    assert notice.path == reverse("judge", args=["hills", run.version.judge_id])


def test_a_collection_that_is_put_away_notes_nothing(shop):
    failed_import(shop)
    type(shop).objects.update(put_away_at=timezone.now())
    assert gathering.gather() == 0


def test_analysts_see_notices_whose_pages_they_may_read(shop):
    """The pages of imports are for admins, and what an import says may name raters."""
    make_rated_pair_in(shop)
    failed_import(shop)
    gathering.gather()
    analyst = signed_in(make_member(shop, "anna", Role.ANALYST))
    answer = analyst.get(reverse("notices", args=["hills"]))
    paths = [notice.path for notice in answer.context["page"].object_list]
    assert paths and all(analyst.get(path).status_code == 200 for path in paths)
    assert 'value="import.failed"' not in text(answer)


# Webhooks


def test_a_webhook_is_signed_and_arrives_once(shop, engine):
    hook = engine(lambda handler: handler.send({"ok": True}))
    receiver = webhook(shop, hook.url)
    failed_import(shop)
    gathering.gather()
    assert delivering.deliver_due() == 1 and delivering.deliver_due() == 0
    (asked,) = hook.asked
    name, at, signature = (asked.headers[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
    key = base64.b64decode(webhooks.secret_of(receiver).removeprefix("whsec_"))
    signed = hmac.new(key, f"{name}.{at}.".encode() + asked.raw, hashlib.sha256).digest()
    assert signature == f"v1,{base64.b64encode(signed).decode()}"
    assert asked.body["type"] == "import.failed" and "shop.csv" in asked.body["text"]
    assert abs(int(at) - timezone.now().timestamp()) < 60
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.tries, delivery.answer[:3]) == ("delivered", 1, "200")


@pytest.mark.parametrize(
    ("host", "has_card"),
    [
        ("prod-1.westeurope.logic.azure.com:443", True),
        ("ab.12.environment.api.powerplatform.com", True),
        ("hooks.slack.com", False),
        ("logic.azure.com.example.org", False),
    ],
)
def test_a_workflow_of_teams_gets_the_text_as_a_card_and_nobody_else_does(shop, host, has_card):
    receiver = webhook(shop, f"https://{host}/workflows/1?sig=2")
    document = json.loads(webhooks.body_of(receiver, gathering.test(receiver), "https://site.example.org"))
    assert document["text"] == "Hills: A test of notices from Hills. https://site.example.org/collections/hills/"
    assert ("attachments" in document) == has_card
    if has_card:
        (card,) = document["attachments"]
        assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
        assert card["content"]["type"] == "AdaptiveCard"
        assert [block["text"] for block in card["content"]["body"]] == [document["text"]]


def test_a_slow_webhook_is_not_tried_by_a_second_worker_meanwhile(shop, monkeypatch):
    waits = []

    def response(*_) -> tuple[int, dict, bytes]:
        waits.append(Delivery.objects.get().next_at - timezone.now())
        return 200, {}, b""

    monkeypatch.setattr(webhooks, "response_of", response)
    webhook(shop, "http://127.0.0.1:9/")
    failed_import(shop)
    gathering.gather()
    assert delivering.deliver_due() == 1
    assert waits[0].total_seconds() > 2 * webhooks.ANSWER_SECONDS


def test_a_webhook_that_fails_is_tried_later_under_the_same_id_and_given_up(shop, engine):
    hook = engine(lambda handler: handler.send(b"no", 500))
    webhook(shop, hook.url)
    failed_import(shop)
    gathering.gather()
    for tries in range(1, len(MINUTES_TO_NEXT_TRY) + 2):
        assert delivering.deliver_due() == 1 and delivering.deliver_due() == 0
        delivery = Delivery.objects.get()
        assert delivery.tries == tries and delivery.answer == "500 no"
        if tries <= len(MINUTES_TO_NEXT_TRY):
            wait = (delivery.next_at - timezone.now()).total_seconds() / 60
            assert wait == pytest.approx(MINUTES_TO_NEXT_TRY[tries - 1], abs=0.1)
        due_again()
    assert Delivery.objects.get().state == "given_up" and delivering.deliver_due() == 0
    assert len({asked.headers["webhook-id"] for asked in hook.asked}) == 1


def test_a_receiver_that_is_gone_gets_nothing_more(shop, engine):
    hook = engine(lambda handler: handler.send(b"", 410))
    webhook(shop, hook.url)
    failed_import(shop)
    gathering.gather()
    delivering.deliver_due()
    assert Receiver.objects.get().gone and Delivery.objects.get().state == "given_up"
    failed_import(shop)
    gathering.gather()
    assert Delivery.objects.count() == 1


def test_a_receiver_that_hangs_or_floods_costs_little(shop, engine, monkeypatch):
    import time

    monkeypatch.setattr(webhooks, "ANSWER_SECONDS", 0.3)
    webhook(shop, engine(lambda handler: time.sleep(2)).url)
    webhook(shop, engine(lambda handler: handler.send(b"x" * 200_000)).url)
    webhook(shop, engine(lambda handler: handler.send(b"", 302, Location="http://127.0.0.1:1/")).url)
    failed_import(shop)
    gathering.gather()
    begun = time.monotonic()
    assert delivering.deliver_due() == 3
    assert time.monotonic() - begun < 2
    answers = " ".join(Delivery.objects.order_by("pk").values_list("answer", flat=True))
    assert "took longer" in answers and "larger than" in answers and "302" in answers


@pytest.mark.parametrize("address", ["http://169.254.169.254/latest", "http://10.0.0.1/", "http://localhost:1/"])
def test_no_webhook_reaches_a_private_address(shop, settings, address):
    settings.PULL_HOSTS = ["169.254.169.254", "localhost"][:0]
    webhook(shop, address)
    failed_import(shop)
    gathering.gather()
    delivering.deliver_due()
    assert Delivery.objects.get().answer.startswith("no answer: ")


def test_two_workers_send_one_delivery_once(shop, engine):
    hook = engine(lambda handler: handler.send({}))
    webhook(shop, hook.url)
    failed_import(shop)
    gathering.gather()
    one = Delivery.objects.select_related("receiver__collection", "receiver__user", "notice__collection").get()
    two = Delivery.objects.select_related("receiver__collection", "receiver__user", "notice__collection").get()
    assert (delivering._deliver(one), delivering._deliver(two)) == (True, False)
    assert len(hook.asked) == 1


def test_the_page_makes_a_webhook_shows_its_secret_once_and_tests_it(shop, engine):
    client = signed_in(make_member(shop, "lead", Role.ADMIN))
    hook = engine(lambda handler: handler.send({}))
    made = client.post(reverse("make_webhook", args=["hills"]), {"address": hook.url, "kinds": ["watch.worse"]})
    receiver = Receiver.objects.get()
    assert webhooks.secret_of(receiver) in text(made)
    page = client.get(reverse("notices", args=["hills"]))
    assert "whsec_" not in text(page) and hook.url in text(page)
    client.post(reverse("test_webhook", args=["hills", receiver.pk]))
    delivering.deliver_due()
    assert hook.asked[0].body["type"] == "test"
    assert "delivered" in text(client.get(reverse("notices", args=["hills"])))
    client.post(reverse("remove_webhook", args=["hills", receiver.pk]))
    assert not Receiver.objects.exists()


def test_a_superuser_allows_the_host_of_a_webhook(shop, settings):
    settings.PULL_HOSTS = []
    receiver = webhook(shop, "https://hooks.example.org/a")
    admin = signed_in(make_member(shop, "lead", Role.ADMIN))
    page = text(admin.get(reverse("notices", args=["hills"])))
    assert "Nothing is sent to hooks.example.org until a superuser allows it" in page and "Send a test" not in page
    address = reverse("allow_webhook", args=["hills", receiver.pk])
    assert admin.post(address).status_code == 404
    boss = signed_in(make_member(shop, "boss", Role.ADMIN))
    type(shop.memberships.get(user__username="boss").user).objects.filter(username="boss").update(
        is_superuser=True
    )
    boss.post(address)
    assert AllowedHost.objects.get().host == "hooks.example.org"


# Mail


@pytest.fixture
def mailed(settings):
    settings.MAIL = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    outbox.outbox = []
    return outbox.outbox


def member(shop, name: str, role: str):
    user = make_member(shop, name, role)
    user.email = f"{name}@example.org"
    user.save()
    return user


def test_mail_comes_to_whoever_wants_it_and_a_link_ends_it(shop, mailed):
    client = signed_in(member(shop, "anna", Role.ADMIN))
    client.post(reverse("mail_me", args=["hills"]), {"kinds": ["import.failed"]})
    Receiver.objects.update(created_at=timezone.now() - LATER)
    failed_import(shop)
    gathering.gather()
    delivering.deliver_due()
    (message,) = mailed
    assert message.to == ["anna@example.org"] and "shop.csv" in message.body
    link = re.search(r"/mail/notices/\S+", message.body)[0]
    former = signing.dumps(Receiver.objects.get().pk, salt="ratings.notices.off")  # of mails that were sent
    stranger = Client()
    for address in (link, reverse("notices_off", args=[former])):
        assert "End these mails?" in text(stranger.get(address)) and Receiver.objects.exists()
    assert (
        "You get no mail of this kind about Hills." in text(stranger.post(link)) and not Receiver.objects.exists()
    )
    assert "No more of these mails" in text(stranger.get(link))


def test_a_program_of_mail_ends_mails_by_one_post(shop, mailed):
    """As RFC 8058 has it: to the address in the header, without a session, a page before it or a CSRF token."""
    admin, rater = member(shop, "anna", Role.ADMIN), make_rater(shop)
    type(rater.user).objects.update(email="alice@example.org")
    long_ago = timezone.now() - LATER
    shop.receivers.create(user=admin, kinds=["import.failed"], created_at=long_ago)
    make_pair(shop)
    type(shop).objects.update(reminds=True)
    failed_import(shop)
    gathering.gather()
    assert (delivering.deliver_due(), reminding.remind_due(), len(mailed)) == (1, 1, 2)
    for message in mailed:
        head = message.message()
        assert head["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        address = re.fullmatch(r"<https?://[^/]+(/mail/\S+)>", head["List-Unsubscribe"])[1]
        body = {"List-Unsubscribe": "One-Click"}
        assert Client(enforce_csrf_checks=True).post(address, body).status_code == 200
    rater.refresh_from_db()
    assert rater.no_mail and not Receiver.objects.exists()


def test_the_page_says_where_no_mail_is_sent(shop, settings):
    client = signed_in(make_member(shop, "anna", Role.ANALYST))
    settings.MAIL = False
    assert "This server sends no mail" in text(client.get(reverse("notices", args=["hills"])))
    settings.MAIL = True
    assert "Your account has no mail address" in text(client.get(reverse("notices", args=["hills"])))


def test_nobody_who_left_gets_mail_and_analysts_no_names_of_raters(shop, mailed):
    user = member(shop, "anna", Role.ANALYST)
    refused = signed_in(user).post(reverse("mail_me", args=["hills"]), {"kinds": ["rater.gold"]})
    assert refused.status_code == 400
    signed_in(user).post(reverse("mail_me", args=["hills"]), {"kinds": ["rating.finished"]})
    Receiver.objects.update(created_at=timezone.now() - LATER)
    shop.memberships.filter(user=user).delete()
    make_rated_pair_in(shop)
    gathering.gather()
    delivering.deliver_due()
    assert mailed == [] and "reads this collection no more" in Delivery.objects.get().answer


def test_who_rates_in_two_collections_gets_one_mail_a_day(shop, mailed):
    rater, other = make_rater(shop), make_collection("other")
    type(rater.user).objects.update(email="alice@example.org")
    make_rater(other)
    make_pair(shop)
    make_pair(other)
    type(shop).objects.update(reminds=True)
    assert (reminding.remind_due(), reminding.remind_due(), len(mailed)) == (1, 0, 1)


def test_a_rater_is_reminded_at_most_once_a_day_and_never_after_the_link(shop, mailed):
    rater = make_rater(shop)
    type(rater.user).objects.update(email="alice@example.org")
    make_pair(shop)
    assert reminding.remind_due() == 0  # nobody switched it on
    type(shop).objects.update(reminds=True)
    assert (reminding.remind_due(), reminding.remind_due()) == (1, 0)
    assert "1 document waits" in mailed[0].body
    type(rater).objects.update(reminded_at=timezone.now() - timedelta(days=2))
    assert reminding.remind_due() == 0  # they did nothing since
    type(rater).objects.update(reminded_at=timezone.now() - timedelta(days=8))
    language.choose(rater.user, "uk")
    assert reminding.remind_due() == 1
    assert "чекає 1 документ" in mailed[1].body and "чекають" in mailed[1].subject
    link = re.search(r"/mail/work/\S+", mailed[0].body)[0]
    assert Client().get(link).status_code == 200
    Client().post(link)
    type(rater).objects.update(reminded_at=None)
    assert reminding.remind_due() == 0
