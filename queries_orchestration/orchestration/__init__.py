"""Dagster: jobs, ops, schedules, resources and tags; a thin shell over the functions."""
