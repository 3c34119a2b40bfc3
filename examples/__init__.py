"""An example: the flights out of New York, delivered on schedule."""
