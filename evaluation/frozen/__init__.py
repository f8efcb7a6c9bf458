"""Frozen evaluations: freezing, reading, comparing two, and means over time."""

from ..models import NAME_LENGTH
from .content import Broken
from .freezing import NameTaken, freeze
from .stored import about, evaluation_of, files_of, lines_of, settings_of
