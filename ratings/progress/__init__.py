"""The progress of rating: counts, forecast, costs, and what is stuck."""
