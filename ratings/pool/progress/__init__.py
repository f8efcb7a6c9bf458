"""The progress of rating: counts, a forecast, costs, and what holds it up."""
