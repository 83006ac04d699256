"""What every domain builds on: database, requests, callers, permissions, errors. Imports the tables and no domain."""
