"""The base of every domain: database, requests, callers, permissions, errors. Imports the tables and no domain."""
