"""The catalog as code: workspaces, people, datasets, queries and schedules kept in YAML files."""
