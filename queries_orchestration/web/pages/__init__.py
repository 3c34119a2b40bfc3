"""Pages for people, rendered here."""
