"""The application database: tables, migrations, one module per aggregate.

Every call takes a workspace; the calls that look across workspaces stand in
``cross_workspace`` alone.
"""
