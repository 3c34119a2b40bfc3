"""What a process tells of its work while it does it: log lines with their context, and traces."""
