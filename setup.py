"""Everything is said in pyproject.toml; this file serves tools that still look for it."""

from setuptools import setup

setup()
