"""What is told of exports, schedules and occurrences as JSON: the same by command and by API."""
