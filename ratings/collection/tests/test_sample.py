from collections import Counter

import pytest

from ratings.collection import sample
from ratings.models import Collection, Rating

pytestmark = pytest.mark.django_db


def test_the_sample_is_worth_a_look():
    collection = sample.load()
    assert collection.queries.exclude(need="").count() >= 12
    assert collection.documents.count() >= 60
    assert collection.systems.count() == 3
    assert collection.raters.count() == 3
    assert collection.grades.filter(value__lt=0).exists()
    grades = Counter()
    for pair in set(Rating.objects.values_list("pair", flat=True)):
        values = set(Rating.objects.filter(pair=pair, grade__isnull=False).values_list("grade", flat=True))
        grades[len(values) > 1] += 1
    assert grades[True] > 10, "the raters sometimes disagree"


def test_the_first_start_loads_it_once():
    assert sample.load_on_first_start()
    assert not sample.load_on_first_start()
    assert Collection.objects.count() == 1


def test_an_installation_with_collections_of_its_own_gets_no_sample():
    Collection.objects.create(slug="own", name="Own")
    assert not sample.load_on_first_start()
    assert Collection.objects.count() == 1
