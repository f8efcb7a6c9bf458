"""Search engines that a collection is connected to, and what they answer until it is imported."""

from django.db import models

from .collection import Collection
from .constraints import known_value
from .content import Query
from .job import Job


class Engine(models.Model):
    """How a search engine is asked, and where its answers have the results.

    The fields that end with `_at` are paths: names and list indexes with dots between them; of several paths with
    | between them the first that exists counts. The key of the engine is in a variable of the operator's, whose
    name `secret` is: it is not in the database.
    """

    class Dialect(models.TextChoices):
        ELASTICSEARCH = "elasticsearch", "Elasticsearch"
        OPENSEARCH = "opensearch", "OpenSearch"
        SOLR = "solr", "Solr"
        VESPA = "vespa", "Vespa"
        ALGOLIA = "algolia", "Algolia or alike"
        JSON = "json", "another engine with JSON answers"

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="engines")
    name = models.CharField(max_length=100)
    dialect = models.CharField(max_length=20, choices=Dialect.choices)
    address = models.CharField(max_length=2_000, help_text="With {query}, {need}, {key} and {depth}.")
    body = models.TextField(blank=True, help_text="JSON with the same placeholders. Empty: the request is a GET.")
    headers = models.TextField(blank=True, help_text="NAME: value, a line each. Nothing secret.")
    secret = models.CharField(max_length=100, blank=True)
    secret_header = models.CharField(max_length=100, default="Authorization")
    results_at = models.CharField(max_length=200)
    id_at = models.CharField(max_length=200)
    score_at = models.CharField(max_length=200, blank=True)
    title_at = models.CharField(max_length=200, blank=True)
    text_at = models.CharField(max_length=200, blank=True)
    link_at = models.CharField(max_length=200, blank=True)
    more_at = models.JSONField(default=list, help_text="Paths of what else is kept of a document, as its fields.")
    replaces_texts = models.BooleanField(default=False, help_text="Also those that came from a file.")
    answer = models.TextField(blank=True)  # the last one, as JSON, to choose places from
    answered = models.TextField(blank=True)  # the text of the query to which `answer` is the answer
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "name"], name="one_engine_per_name"),
            known_value(
                "dialect",
                ["elasticsearch", "opensearch", "solr", "vespa", "algolia", "json"],
                "dialect_of_engine_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class EngineAnswer(models.Model):
    """What an engine answered to one query, until the job imports the answers. A failed one has a `problem`."""

    job = models.ForeignKey(Job, models.CASCADE, db_index=False, related_name="answers")
    query = models.ForeignKey(Query, models.CASCADE, related_name="+")
    again = models.BooleanField(default=False, help_text="The second answer, which shows how the engine differs.")
    hits = models.BinaryField(default=b"[]", help_text="As JSON, best first.")
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "query", "again"], name="one_answer_per_query")]
