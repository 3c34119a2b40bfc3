"""The application as the environment has it set up."""

from __future__ import annotations

import os

from fastapi import FastAPI

from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import load_settings
from queries_orchestration.web.app import create_app
from queries_orchestration.web.open_verifier import open_verifier

KEPT_CONNECTIONS = 10
"""To the application database, between two requests."""
STORAGE_PATIENCE = 5.0
"""Seconds for an object store to say something; people, and few threads, wait meanwhile."""


def app_of_environment() -> FastAPI:
    """Return the application that ``QUERIES_…`` variables describe.

    Raises:
        InvalidSettings: one is missing or cannot be used.
    """
    settings = load_settings(os.environ)
    backends = open_backends(
        settings,
        os.environ,
        system_clock,
        kept_connections=KEPT_CONNECTIONS,
        patience=STORAGE_PATIENCE,
    )
    return create_app(backends, open_verifier(settings, system_clock))
