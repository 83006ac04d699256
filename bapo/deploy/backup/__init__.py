"""Backup and restore: the database and the runs' folders in one file, with a checksum of everything in it."""
