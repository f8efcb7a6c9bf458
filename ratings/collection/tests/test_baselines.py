"""An admin makes a system a baseline of the gate on its page."""

import pytest
from django.urls import reverse

from ratings.models import Role
from ratings.tests.cast import make_collection, make_member, make_ranking

pytestmark = pytest.mark.django_db


def test_a_system_becomes_a_baseline_with_a_reason(client):
    collection = make_collection()
    system = make_ranking(collection, "bm25", "q1", "ab").system
    client.force_login(make_member(collection, "dora", Role.ADMIN))
    address = reverse("make_baseline", args=[collection.slug, system.pk])
    page = reverse("system", args=[collection.slug, system.pk])
    assert f'action="{address}"' in client.get(page).content.decode()
    for wrong in ({"kind": "release", "reason": " "}, {"kind": "last run", "reason": "It runs."}):
        client.post(address, wrong)
        assert not collection.baselines.exists()
    client.post(address, {"kind": "release", "reason": "It runs since May."})
    (baseline,) = collection.baselines.all()
    assert (baseline.system, baseline.name, baseline.kind) == (system, "bm25", "release")
    assert "Made the last release on" in client.get(page).content.decode()
