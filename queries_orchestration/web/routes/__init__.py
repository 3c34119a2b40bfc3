"""The routes, one module per thing they are about: thin shells over the functions below."""
