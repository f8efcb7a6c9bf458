"""A row in every table that a backup keeps, with values that are hard to keep."""

import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal

AT = datetime(2026, 3, 2, 9, 0, 0, 120_003, tzinfo=UTC)
HARD = 'ß "quoted", back\\slash\n\\.\n\tline\r\n\u2028 \U0001f50e'


def everything() -> None:
    """The sample, and at least one row in each table that a backup keeps, with values that are hard to keep."""
    from allauth.account.models import EmailAddress, EmailConfirmation
    from allauth.mfa.models import Authenticator
    from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
    from django.contrib.admin.models import LogEntry
    from django.contrib.auth.models import Group, Permission, User
    from django.contrib.contenttypes.models import ContentType
    from PIL import Image

    from evaluation import frozen
    from evaluation.measures import parse_measure
    from evaluation.models import FrozenLink
    from evaluation.scores import Asked
    from evaluation.watching.tests.cast import make_night, make_watch
    from ratings.collection import sample
    from ratings.importing import uploads
    from ratings.importing.pictures import store
    from ratings.models import (
        AccountLanguage,
        Adjudication,
        AllowedHost,
        Anchor,
        ApiToken,
        Assignment,
        Baseline,
        Check,
        Collection,
        Deletion,
        Delivery,
        Document,
        Drawn,
        Engine,
        EngineAnswer,
        FormerText,
        Grade,
        Invitation,
        Job,
        Judge,
        JudgeRun,
        JudgeSample,
        JudgeUse,
        JudgeVersion,
        LostLease,
        MachineGrade,
        Notice,
        Pair,
        Picture,
        Presentation,
        Probe,
        Query,
        Rater,
        RatingEvent,
        Receipt,
        Receiver,
        Round,
        Sample,
        SampledPair,
        SampledQuery,
        SuperuserByGroup,
    )

    hills = sample.load()
    sample.make_accounts()
    anna = User.objects.create_user("anna", "anna@example.org", "a pass phrase", first_name=HARD, date_joined=AT)
    group = Group.objects.create(name="Search")
    permission = Permission.objects.get(codename="change_collection")
    group.permissions.add(permission)
    anna.groups.add(group)
    anna.user_permissions.add(permission)
    SuperuserByGroup.objects.create(user=anna)
    AccountLanguage.objects.create(user=anna, code="uk")
    Authenticator.objects.create(user=anna, type="totp", data={"secret": HARD}, created_at=AT)
    known = SocialAccount.objects.create(user=anna, provider="oidc", uid="4" * 64, extra_data={"sub": HARD})
    # Tables of allauth that nothing here writes into.
    SocialToken.objects.create(account=known, token="t", app=SocialApp.objects.create(provider="oidc", name="o"))
    address = EmailAddress.objects.create(user=anna, email="anna@example.org", verified=True)
    EmailConfirmation.objects.create(email_address=address, key="5" * 64)
    AllowedHost.objects.create(host="images.example.org", purpose="pictures", allowed_by=anna)
    kind = ContentType.objects.get_for_model(Collection)
    LogEntry.objects.create(user=anna, content_type=kind, object_id="1", object_repr=HARD, action_flag=2)
    facts = {"gold_share": Decimal("0.25"), "aim": {"z": [1, None], "a": 1.5}, "default_options": {"rule": HARD}}
    gone = Collection.objects.create(name="Gone", **facts)
    Deletion.objects.create(collection=gone, slug="gone", by=anna, deleted_at=AT, remove_at=AT + timedelta(days=7))
    tenth = Grade.objects.create(collection=gone, value=Decimal("-0.123456789"))
    query = Query.objects.create(collection=gone, key="q", text=HARD, tags=["b", "a"], weight=0.1 + 0.2)
    rater = Rater.objects.create(collection=gone, user=anna, name="anna", weight=Decimal("0.125"), left_out_at=AT)
    rater.queries.add(query)
    facts = {"number": 2**53 + 1, "text": HARD, "small": 1e-300}
    document = Document.objects.create(collection=gone, key="d", title="", body=HARD, fields=facts)
    other, third = (Document.objects.create(collection=gone, key=key) for key in "ef")
    pair, drawn, open_one = (Pair.objects.create(query=query, document=each) for each in (document, other, third))
    own = {"collection": gone, "query": query}
    Assignment.objects.create(pair=open_one, **own)
    Assignment.objects.create(pair=pair, **own, rater=rater, state="leased", leased_until=AT)
    LostLease.objects.create(pair=open_one, rater=rater)
    Anchor.objects.create(pair=pair, use="warm_up", grade=tenth, explanation=HARD, created_at=AT)
    said = {"pair": drawn, "rater": rater, "scale_version": 1, "created_at": AT, "seconds": 0.1}
    first = RatingEvent.objects.create(**said, kind="grade", value=tenth.value)
    RatingEvent.objects.create(**said, kind="undo", undoes=first)
    check = {"rater": rater, "pair": drawn, "kind": "repeat", "created_at": AT}
    Check.objects.create(**check, event=RatingEvent.objects.create(**said, kind="repeat", value=tenth.value))
    Adjudication.objects.create(pair=drawn, grade=tenth, reason=HARD, actor=anna, created_at=AT)
    drawing = {"collection": gone, "number": 1, "method": "1", "seed": -(2**63), "aim": {"gains": [1.0]}}
    one = Round.objects.create(
        **drawing, threshold=None, precision=0.3, seen={}, frame=2, judged=0, version=1, created_at=AT
    )
    Drawn.objects.create(round=one, pair=drawn, place=1, kind="greedy", born=0, chances=[0.1])
    Baseline.objects.create(collection=gone, kind="fixed", name=HARD, reason=HARD)
    totals = {"searches": 2**53 + 1, "queries": 2, "head_searches": 2**53, "head_queries": 1}
    log = Sample.objects.create(
        collection=gone,
        number=1,
        method="even",
        seed=-(2**63),
        size=2,
        log=HARD,
        digest="a" * 64,
        **totals,
        strata=[{"name": HARD}],
        created_at=AT,
    )
    SampledQuery.objects.create(sample=log, query=query, place=1, text=HARD, count=2**53, chance=0.1 + 0.2)
    judge = Judge.objects.create(collection=gone, name=HARD, by=anna, created_at=AT)
    made = {"prompt_sha256": "6" * 64, "guidelines_sha256": "7" * 64, "presentation_sha256": "8" * 64}
    made |= {
        "template": "own",
        "prompt": HARD,
        "scale": ["-0.123456789"],
        "model": "m",
        "parser": 1,
        "seed": 2**63 - 1,
    }
    version = JudgeVersion.objects.create(
        judge=judge, number=1, by=anna, created_at=AT, price_in=Decimal("0.000001"), fingerprint="9" * 64, **made
    )
    asked = JudgeRun.objects.create(
        version=version, choice="pool", most_calls=3, calls=2, state="done", created_at=AT
    )
    answered = {"run": asked, "version": version, "query": query, "document": document}
    MachineGrade.objects.create(
        **answered, state="graded", value=tenth.value, answer=HARD, cost=Decimal("0.1"), at=AT
    )
    probing = {"run": asked, "version": version, "query": query, "kind": "empty"}
    Probe.objects.create(**probing, state="graded", value=tenth.value, answer=HARD, at=AT)
    JudgeUse.objects.create(judge=judge, version=version, use="expected", by=anna, created_at=AT)
    sample = JudgeSample.objects.create(judge=judge, seed=-(2**63), created_at=AT)
    SampledPair.objects.create(sample=sample, query=query, document=document, stratum="s", probability=0.1)
    invitation = {"role": "rater", "name": "boris", "key_hash": "0" * 64, "created_by": anna}
    Invitation.objects.create(**invitation, collection=hills, created_at=AT, expires_at=AT)
    token = {"user": anna, "name": "nightly", "key_hash": "1" * 64, "scopes": ["read"]}
    ApiToken.objects.create(**token, created_at=AT, expires_at=AT)
    Receipt.objects.create(user=anna, collection=hills, key="k", digest="2" * 64, answer=facts, created_at=AT)
    Presentation.objects.create(collection=hills, version=1, content={"document": [], "query": []})
    waiting = uploads.keep(_sent("queries.tsv", b"q9\tnew\n"))
    job = Job.objects.create(collection=gone, kind="queries", files=[waiting], beat_at=AT, state="queued")
    Engine.objects.create(collection=gone, name=HARD, dialect="solr", address=HARD, more_at=[HARD])
    EngineAnswer.objects.create(job=job, query=query, hits=HARD.encode())
    noted = Notice.objects.create(collection=gone, kind="test", key=HARD, text=HARD, path="/", at=AT)
    told = Receiver.objects.create(collection=gone, address=HARD, kinds=["test"], created_at=AT)
    Delivery.objects.create(receiver=told, notice=noted, answer=HARD, next_at=AT)
    FormerText.objects.create(job=job, document=document, title=HARD, body="", url="", fields={})
    webp = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(webp, "WEBP")
    digest = store.keep(webp.getvalue())
    shown = {"state": "ready", "small": digest, "large": digest, "width": 8, "height": 8}
    Picture.objects.create(collection=hills, digest="3" * 64, source="data:", **shown)
    spring, _ = frozen.freeze(hills, "Spring", Asked(parse_measure("nDCG@10")), by=anna)
    FrozenLink.objects.create(frozen=spring, created_at=AT)
    make_night(make_watch(hills, HARD, created_at=AT), due_at=AT, problem=HARD)


def _sent(name: str, content: bytes):
    from django.core.files.uploadedfile import SimpleUploadedFile

    return SimpleUploadedFile(name, content)
