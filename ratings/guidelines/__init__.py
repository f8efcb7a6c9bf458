"""What raters are told: versions, their text as HTML, what changed."""
