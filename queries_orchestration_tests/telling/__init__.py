"""What command, API and pages tell."""
