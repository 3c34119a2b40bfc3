"""One attempt at a piece of work, whatever the work is: taken, kept alive, ended, offered again.

Deliveries and exports share it, so that there is one way to claim, to fail and to recover.
"""
