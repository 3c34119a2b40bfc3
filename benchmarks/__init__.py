"""What the product costs, measured beside what others take: `make bench`."""
