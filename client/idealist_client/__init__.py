"""Collections, ratings and scores of an Idealist server, from Python.

from idealist_client import Idealist

lamps = Idealist("https://ratings.example.org", token).collection("lamps")
print(lamps.evaluate("nDCG@10").frame())
"""

from .collection import Collection, Idealist
from .importing import Imported
from .tables import Answer, Rows
from .wire import Problem

__all__ = ["Answer", "Collection", "Idealist", "Imported", "Problem", "Rows"]
