#!/bin/sh
# The two databases of the server in compose.yaml; run once, when it is new.
set -eu
createdb --username postgres queries
createdb --username postgres dagster
