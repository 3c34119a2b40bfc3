"""The catalog as code: people, datasets, queries, reports and schedules kept in YAML files."""
