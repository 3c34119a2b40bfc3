"""Saved queries and reports, delivered as files: exports and scheduled deliveries on Dagster."""
