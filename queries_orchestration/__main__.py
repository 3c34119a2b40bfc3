"""``python -m queries_orchestration`` is the ``queries`` command."""

from queries_orchestration.cli.main import main

if __name__ == "__main__":
    main()
