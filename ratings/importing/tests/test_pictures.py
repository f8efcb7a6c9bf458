"""Pictures of documents: listed, fetched, decoded, stored, shown."""

import base64
import io
import zipfile
from functools import partial

import pytest
from django.contrib.auth import get_user_model
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from ratings.importing import jobs, uploads
from ratings.importing.pictures import decoding, store
from ratings.importing.pictures.fetching import Fetching
from ratings.importing.pull.fetching import Redirected
from ratings.models import AllowedHost, Collection, Document, Grade, Job, Membership, Pair, Picture, Query, Role
from ratings.presentation import versions
from ratings.presentation.content import sample_of
from ratings.presentation.parts import Part, Presented
from ratings.tests.cast import make_member

SHOWING = Presented((Part("title", "title"), Part("image", "image"), Part("image", "more", "Views")))


def picture_of(size=(640, 400), color="red", kind="PNG", mode="RGB", **more) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, color).save(out, kind, **more)
    return out.getvalue()


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.STORAGES = settings.STORAGES | {
        "pictures": settings.STORAGES["pictures"] | {"OPTIONS": {"location": tmp_path / "pictures"}}
    }
    settings.PULL_HOSTS = ["cdn.example.org"]
    return tmp_path / "pictures"


@pytest.fixture
def shop(db):
    shop = Collection.objects.create(slug="shop", name="Shop")
    Grade.objects.create(collection=shop, value=1)
    versions.publish(shop, SHOWING, base=0)
    return shop


def with_documents(shop, **images) -> None:
    for key, image in images.items():
        Document.objects.create(collection=shop, key=key, title=f"Title {key}", fields={"image": image})


def fetched(shop, bring=None, **choices) -> dict[str, Picture]:
    turn = Fetching(shop, bring=bring or (lambda source: picture_of()), **choices)
    turn.list_sources()
    turn.fetch()
    return {row.source: row for row in shop.pictures.all()}


def unpacked(shop, tmp_path, *names) -> None:
    """List the pictures, then take those from a ZIP with pictures of these names."""
    path = tmp_path / "pictures.zip"
    with zipfile.ZipFile(path, "w") as zip:
        for name in names:
            zip.writestr(name, picture_of((40, 25)))
    turn = Fetching(shop)
    turn.list_sources()
    turn.unpack([("pictures.zip", path)])


@pytest.mark.parametrize("kind", decoding.FORMATS)
def test_a_picture_of_each_format_becomes_two_of_ours(kind):
    made = decoding.decode(picture_of((2000, 1000), kind=kind))
    assert (made.width, made.height) == (480, 240)
    assert decoding.checked(made.small) == (480, 240)
    assert decoding.checked(made.large) == (1600, 800)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "SVG"),
        (b"\n<?xml version='1.0'?><svg/>", "SVG"),
        (b"<!doctype html><p>404", "web page"),
        (b"GIF89a;alert(1)//", "not a picture"),
        (b"%PDF-1.7", "not a picture"),
        (partial(picture_of, kind="TIFF"), "not a picture"),
        (lambda: picture_of(kind="JPEG")[:600], "damaged"),
        (partial(picture_of, (4000, 4000)), "4,000 × 4,000 pixels"),
        (partial(picture_of, (20000, 20000), color=0, mode="1"), "pixels"),
        (bytes(13_000_000), "13.0 MB"),
    ],
)
@pytest.mark.slow
def test_what_is_no_picture_is_refused_with_the_reason(content, said):
    with pytest.raises(decoding.Unusable, match=said):
        # Large pictures are made here, not where all tests are read.
        decoding.decode(content() if callable(content) else content)


def test_nothing_else_of_a_file_is_kept():
    exif = Image.Exif()
    exif[0x010E] = "secret place"
    exif[0x0112] = 6  # turned by a quarter
    polyglot = picture_of((300, 100), kind="JPEG", exif=exif, comment=b"<script>") + b"<script>alert(1)</script>"
    made = decoding.decode(polyglot)
    assert (made.width, made.height) == (100, 300)
    for content in (made.small, made.large):
        assert b"script" not in content and b"secret" not in content
        assert content[:4] == b"RIFF" and int.from_bytes(content[4:8], "little") + 8 == len(content)


def test_a_grey_picture_of_16_bits_keeps_its_shades():
    ramp = Image.new("I;16", (256, 1))
    for x in range(256):
        ramp.putpixel((x, 0), x * 257)
    out = io.BytesIO()
    ramp.resize((256, 64)).save(out, "PNG")
    large = Image.open(io.BytesIO(decoding.decode(out.getvalue()).large))
    shades = [large.getpixel((x, 32))[0] for x in (8, 128, 248)]
    assert shades == [pytest.approx(x, abs=6) for x in (8, 128, 248)]


@pytest.mark.parametrize(
    ("mode", "color", "more"),
    [
        ("RGBA", (9, 9, 9, 0), {}),
        ("LA", (9, 0), {}),
        ("RGB", (9, 9, 9), {"transparency": (9, 9, 9)}),
        ("L", 9, {"transparency": 9}),
        ("P", 0, {"transparency": 0}),
        ("1", 0, {"transparency": 0}),
    ],
)
def test_what_is_transparent_stays_transparent(mode, color, more):
    made = decoding.decode(picture_of((40, 40), color, mode=mode, **more))
    for content in (made.small, made.large):
        assert Image.open(io.BytesIO(content)).getpixel((5, 5))[3:] == (0,)


def test_pictures_are_listed_once_and_fetched(shop):
    with_documents(shop, a="https://cdn.example.org/1.png", b=["https://cdn.example.org/1.png", "two.png"], c="")
    asked = []
    rows = fetched(shop, lambda source: asked.append(source) or picture_of())
    assert asked == ["https://cdn.example.org/1.png"]
    ready, missing = rows["https://cdn.example.org/1.png"], rows["two.png"]
    assert (ready.state, ready.width, ready.height, ready.named_by) == ("ready", 480, 300, "a")
    assert (missing.state, missing.problem) == (
        "refused",
        "Idealist has no file of this name. Send a ZIP that has it.",
    )
    assert decoding.checked(store.opened(ready.small).read()) == (480, 300)


def test_a_picture_inside_a_document_needs_no_host(shop):
    inside = "data:image/png;base64," + base64.b64encode(picture_of()).decode()
    with_documents(shop, a=inside, b="data:image/png;base64,###", c="data:text/html,<script>alert(1)</script>")
    rows = {row.named_by: row for row in fetched(shop).values()}
    assert rows["a"].state == "ready" and rows["a"].source == inside[:60]
    assert rows["b"].problem == "the data: address is not base64."
    assert rows["c"].problem.startswith("it is not a picture")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("https://other.example/1.png", "is not in IDEALIST_PULL_HOSTS"),
        ("http://127.0.0.1/1.png", "is not in IDEALIST_PULL_HOSTS"),
        ("https://user:key@cdn.example.org/1.png", "has a name or password"),
        ("https://cdn.example.org:0/1.png", "port 0"),
        ("https://" + "a" * 3000, "more than 2,000 characters"),
        ("javascript:alert(1)", "Idealist has no file of this name"),
        ("file:///etc/passwd", "Idealist has no file of this name"),
    ],
)
def test_an_address_that_may_not_be_asked_is_refused(shop, source, said):
    with_documents(shop, a=source)
    turn = Fetching(shop)
    turn.list_sources()
    turn.fetch()
    assert said in shop.pictures.get().problem


def test_a_picture_that_lies_elsewhere_is_fetched_from_listed_hosts_alone(shop, monkeypatch):
    places = {
        "cdn.example.org /1.png": "/deep/1.png",
        "cdn.example.org /deep/1.png": picture_of(),
        "cdn.example.org /2.png": "http://169.254.169.254/key",
        "cdn.example.org /3.png": "/3.png",
    }
    asked = []

    def answered(place, method, target, *_):
        asked.append(f"{place.host} {target}")
        if isinstance(answer := places[asked[-1]], str):
            raise Redirected(answer)
        return answer

    monkeypatch.setattr("ratings.importing.pictures.sources.fetched", answered)
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("93.184.215.14", 443))])
    with_documents(shop, **{key: f"https://cdn.example.org/{key}.png" for key in "123"})
    turn = Fetching(shop)
    turn.list_sources()
    turn.fetch()
    problems = {row.named_by: row.problem for row in shop.pictures.all()}
    assert problems["1"] == ""
    assert "169.254.169.254:80 is not in IDEALIST_PULL_HOSTS" in problems["2"]
    assert "it is redirected 4 times, at last to" in problems["3"]
    assert {each.partition(" ")[0] for each in asked} == {"cdn.example.org"}


def test_files_of_a_zip_are_found_by_name(shop, tmp_path):
    with_documents(
        shop,
        a="one.png",
        b="deep/two.png",
        c="https://x.example/three.png?v=1",
        d="twice.png",
        e="../../etc/passwd",
    )
    names = ("any/one.png", "deep/two.png", "x.example/three.png?v=1", "a/twice.png", "b/twice.png")
    unpacked(shop, tmp_path, *names)
    rows = {row.named_by: row for row in shop.pictures.all()}
    states = {key: row.state for key, row in rows.items()}
    assert states == {"a": "ready", "b": "ready", "c": "ready", "d": "refused", "e": "wanted"}
    assert "'a/twice.png' and 'b/twice.png'" in rows["d"].problem


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("https://x.example/a%20b.png", ["x.example/a b.png"]),  # as wget saves it
        ("https://x.example/a%20b.png", ["x.example/a%20b.png", "x.example/a b.png"]),
        ("img/a b.png", ["img/a%20b.png"]),
        ("img/St\u00fchle.png", ["img/Stu\u0308hle.png"]),  # as Macs write it
        ("St\u00fchle.png", ["img/Stu\u0308hle.png"]),
        ("https://x.example/St%C3%BChle.png", ["x.example/Stu\u0308hle.png"]),
    ],
)
def test_escapes_and_the_form_of_accents_make_no_difference_to_a_name(shop, tmp_path, source, names):
    with_documents(shop, a=source)
    unpacked(shop, tmp_path, *names)
    assert shop.pictures.get().state == "ready"


def test_files_of_a_zip_are_taken_for_all_documents_and_nothing_else_is_listed(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("ratings.presentation.content.SAMPLE_SIZE", 1)
    monkeypatch.setattr("ratings.importing.pictures.fetching.ROWS_AT_ONCE", 2)
    with_documents(shop, a="a.png", b="https://other.example/b.png", c=["c.png", "absent.png"], d="d.png")
    with_documents(shop, e="data:image/png;base64,###", f="https://cdn.example.org/f.png", g="b.png")
    unpacked(shop, tmp_path, "other.example/b.png", "img/c.png")
    states = {row.source: row.state for row in shop.pictures.all()}
    assert states == {
        "a.png": "wanted",
        "https://other.example/b.png": "ready",
        "c.png": "ready",
        "b.png": "ready",  # of the file of b
    }


def test_a_bomb_in_a_zip_is_not_unpacked(shop, tmp_path):
    with_documents(shop, a="one.png")
    path = tmp_path / "pictures.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zip:
        zip.writestr("one.png", bytes(200_000_000))
    turn = Fetching(shop)
    turn.list_sources()
    turn.unpack([("pictures.zip", path)])
    assert shop.pictures.get().problem == "it has more than 12 MB."


def test_equal_pictures_are_one_file_and_a_broken_one_is_written_again(folder):
    content = picture_of()
    digest = store.keep(content)
    (file,) = folder.rglob("*.webp")
    file.write_bytes(content[:10])
    assert store.keep(content) == digest
    assert [each.read_bytes() for each in folder.rglob("*.webp")] == [content]


def test_files_that_no_picture_has_are_swept_after_a_day(shop, monkeypatch):
    with_documents(shop, a="https://cdn.example.org/1.png")
    row = fetched(shop)["https://cdn.example.org/1.png"]
    unused = store.keep(picture_of(color="blue"))
    assert store.sweep() == 0
    monkeypatch.setattr(store, "UNUSED_KEPT_FOR", store.timedelta(days=-1))
    assert store.sweep() == 1
    assert (store.exists(unused), store.exists(row.small), store.exists(row.large)) == (False, True, True)


@pytest.fixture
def anna(shop, client):
    anna = get_user_model().objects.create_user("anna")
    Membership.objects.create(collection=shop, user=anna, role=Role.RATER)
    client.force_login(anna)
    return client


def test_a_picture_is_sent_to_people_of_its_collection_alone(shop, anna):
    with_documents(shop, a="https://cdn.example.org/1.png")
    row = fetched(shop)["https://cdn.example.org/1.png"]
    answer = anna.get(row.address("small"))
    assert answer.headers["Content-Type"] == "image/webp"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert decoding.checked(b"".join(answer)) == (480, 300)
    assert anna.get(row.address("huge")).status_code == 404
    anna.force_login(get_user_model().objects.create_user("stranger"))
    assert anna.get(row.address("small")).status_code == 404
    anna.logout()
    assert anna.get(row.address("small")).status_code == 302


def test_a_picture_whose_file_is_gone_is_a_404(shop, anna):
    with_documents(shop, a="https://cdn.example.org/1.png")
    row = fetched(shop)["https://cdn.example.org/1.png"]
    storages["pictures"].delete(store.name_of(row.small))
    assert anna.get(row.address("small")).status_code == 404


@pytest.mark.both_databases
def test_a_job_fetches_and_a_second_wish_waits_for_it(shop, monkeypatch):
    monkeypatch.setattr("ratings.importing.pictures.sources.from_web", lambda source, allowed: picture_of())
    with_documents(shop, a="https://cdn.example.org/1.png")
    first = jobs.fetch_pictures(shop, None)
    assert jobs.fetch_pictures(shop, None) == first
    jobs.look_at.func(first.pk)
    first.refresh_from_db()
    assert (first.state, shop.pictures.get().state) == ("published", "ready")


@pytest.mark.both_databases
def test_after_an_import_of_documents_their_pictures_are_fetched_and_after_a_check_they_are_not(shop):
    file = uploads.keep(SimpleUploadedFile("new.jsonl", b'{"id": "n", "image": "https://cdn.example.org/1.png"}'))
    job = jobs.check(shop, "documents", [file], {}, None)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert job.state == "checked" and not shop.jobs.filter(kind="pictures").exists()
    assert jobs.start(job)
    jobs.look_at.func(job.pk)
    assert shop.jobs.get(kind="pictures").state == "queued"


@pytest.mark.slow
def test_a_job_whose_time_is_over_goes_on_in_another_turn(shop, monkeypatch):
    monkeypatch.setattr("ratings.importing.pictures.sources.from_web", lambda source, allowed: picture_of())
    monkeypatch.setattr("ratings.importing.pictures.fetching.SECONDS_PER_TURN", -1)
    with_documents(shop, **{f"d{n}": f"https://cdn.example.org/{n}.png" for n in range(40)})
    job, turns = jobs.fetch_pictures(shop, None), 0
    while job.state == "queued" and turns < 10:
        jobs.look_at.func(job.pk)
        job.refresh_from_db()
        turns += 1
    assert (job.state, turns, shop.pictures.filter(state="ready").count()) == ("published", 3, 40)


@pytest.mark.both_databases
def test_broken_files_of_a_zip_are_looked_at_once_however_many_turns_it_takes(shop, monkeypatch):
    monkeypatch.setattr("ratings.importing.pictures.fetching.SECONDS_PER_TURN", -1)
    names = [f"{n}.png" for n in range(4)]
    with_documents(shop, **{f"d{n}": name for n, name in enumerate(names)})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zip:
        for name in names[:3]:
            zip.writestr(name, b"not a picture")
        zip.writestr(names[3], picture_of())
    file = uploads.keep(SimpleUploadedFile("pictures.zip", out.getvalue()))
    job, turns = jobs.fetch_pictures(shop, None, [file]), 0
    while job.state == "queued" and turns < 10:
        jobs.look_at.func(job.pk)
        job.refresh_from_db()
        turns += 1
    states = {row.source: row.state for row in shop.pictures.all()}
    assert (job.state, turns) == ("published", 4)
    assert states == dict.fromkeys(names[:3], "refused") | {names[3]: "ready"}


def test_where_no_pictures_are_shown_nothing_is_fetched(shop):
    versions.publish(shop, Presented((Part("title", "title"),)), base=1)
    assert jobs.fetch_pictures(shop, None) is None


def test_pictures_of_documents_outside_the_pool_are_left_where_they_are(shop, monkeypatch):
    monkeypatch.setattr("ratings.presentation.content.SAMPLE_SIZE", 1)
    with_documents(shop, a="https://cdn.example.org/a.png", b="https://cdn.example.org/b.png")
    with_documents(shop, c="https://cdn.example.org/c.png")
    query = Query.objects.create(collection=shop, key="q", text="lamp")
    Pair.objects.create(query=query, document=shop.documents.get(key="c"))
    assert fetched(shop).keys() == {"https://cdn.example.org/a.png", "https://cdn.example.org/c.png"}


@pytest.fixture
def admin(shop, client):
    client.force_login(get_user_model().objects.create_superuser("root"))
    return client


@pytest.mark.both_databases
def test_an_admin_sends_a_zip_and_tries_again(admin, shop, tmp_path):
    with_documents(shop, a="one.png", b="two.png")
    fetched(shop)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zip:
        zip.writestr("one.png", picture_of())
    out.seek(0)
    out.name = "pictures.zip"
    assert admin.post("/collections/shop/pictures/send/", {"files": out}).status_code == 302
    job = shop.jobs.get()
    jobs.look_at.func(job.pk)
    assert {row.source: row.state for row in shop.pictures.all()} == {"one.png": "ready", "two.png": "refused"}
    assert not any((uploads.folder() / file["stored"]).exists() for file in job.files)
    admin.post("/collections/shop/pictures/fetch/")
    assert shop.pictures.get(source="two.png").state == "wanted"


def test_what_is_no_zip_is_refused(admin, shop):
    with_documents(shop, a="one.png")
    sent = io.BytesIO(b"no zip")
    sent.name = "x.zip"
    admin.post("/collections/shop/pictures/send/", {"files": sent})
    job = shop.jobs.get()
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert job.state == "failed" and "x.zip is not a complete ZIP" in job.message


def test_files_near_the_names_are_taken_by_their_last_part_and_then_by_id(shop, tmp_path):
    with_documents(
        shop, S1="https://x.example/img/boot.png?v=2", S2="old/sock.png", S3="front.png", S4="front.jpg"
    )
    unpacked(shop, tmp_path, "boot.png", "any/S2.jpg", "S3.png", "S4.webp")
    assert {row.named_by: row.state for row in shop.pictures.all()} == dict.fromkeys(
        ["S1", "S2", "S3", "S4"], "ready"
    )


def test_a_file_near_the_names_of_two_documents_is_taken_for_none(shop, tmp_path):
    with_documents(shop, S1="1/main.png", S2="2/main.png", S3=["a.png", "b.png"])
    unpacked(shop, tmp_path, "main.png", "S3.png")
    assert {row.state for row in shop.pictures.all()} == {"wanted"}


def sent_zip(admin, *names: str) -> str:
    """What the page says after a ZIP with pictures of these names."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zip:
        for name in names:
            zip.writestr(name, picture_of())
    out.seek(0)
    out.name = "pictures.zip"
    admin.post("/collections/shop/pictures/send/", {"files": out})
    jobs.look_at.func(Job.objects.latest("pk").pk)
    return admin.get("/collections/shop/pictures/").content.decode()


def test_the_page_says_how_many_files_matched_and_what_was_looked_for(admin, shop):
    with_documents(shop, a="one.png", b="two.png")
    page = sent_zip(admin, "IMG_1.png", "IMG_2.png")
    assert "0 of 2 matched." in page and "one.png" in page and "IMG_1.png" in page
    assert "2 of 2 matched." in sent_zip(admin, "one.png", "b.png")


def test_files_named_by_ids_are_pictures_of_documents_that_name_none(admin, shop):
    for key in ("SKU-1", "SKU-2"):
        Document.objects.create(collection=shop, key=key, title=f"Title {key}")
    versions.publish(shop, Presented((Part("title", "title"), Part("image", "id"))), base=1)
    assert "2 of 2 matched." in sent_zip(admin, "SKU-1.png", "more/SKU-2.jpg")
    # Nothing offers ids to be shown: a proposal is as before.
    assert sample_of(shop)[0].keys() == {"title", "body", "url"}


def test_straight_after_a_presentation_is_saved_the_page_says_that_it_looks_for_pictures(admin, shop):
    with_documents(shop, a="one.png")
    jobs.fetch_pictures(shop, None)
    assert "names a picture" not in admin.get("/collections/shop/pictures/").content.decode()


def test_a_superuser_allows_a_host_on_the_page_and_ends_that(admin, shop):
    with_documents(shop, a="https://images.elsewhere.example/1.png")
    assert fetched(shop, sources_from_nowhere)["https://images.elsewhere.example/1.png"].state == "refused"
    form = 'name="host" value="images.elsewhere.example"'
    assert form in admin.get("/collections/shop/pictures/").content.decode()
    admin.post("/collections/shop/pictures/allow-host/", {"host": "images.elsewhere.example"})
    allowed = AllowedHost.objects.get()
    assert (allowed.host, allowed.purpose, allowed.allowed_by.username) == (
        "images.elsewhere.example", "pictures", "root",
    )  # fmt: skip
    assert shop.pictures.get().state == "wanted" and shop.jobs.get().state == "queued"
    assert form not in admin.get("/collections/shop/pictures/").content.decode()
    admin.post("/collections/shop/pictures/allow-host/", {"host": "10.0.0.1"})
    admin.post(f"/collections/shop/pictures/{allowed.pk}/end-host/")
    assert not AllowedHost.objects.exists()


def test_an_admin_who_is_no_superuser_allows_no_host(shop, client):
    client.force_login(make_member(shop, "ada", Role.ADMIN))
    assert client.post("/collections/shop/pictures/allow-host/", {"host": "a.example.org"}).status_code == 404
    assert not AllowedHost.objects.exists()


def sources_from_nowhere(source: str) -> bytes:
    raise ValueError("The host is not allowed")
