"""Pure rules: no I/O, no Dagster, no clock of their own."""
