"""What goes when its time is over, in batches; and who is erased."""
