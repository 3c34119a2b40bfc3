"""Exports, hop by hop: admit, dispatch, generate, download."""
