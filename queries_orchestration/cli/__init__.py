"""The ``queries`` command: a thin shell over the same functions that Dagster uses."""
