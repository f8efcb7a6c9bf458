"""What other rooms call, as `scores.expected.Estimator` says."""

from .frozen import expected_in, files
from .report import expected_of

__all__ = ["expected_in", "expected_of", "files"]
