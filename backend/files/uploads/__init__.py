"""Uploads: received in parts, checked as a whole, registered as versions, handed to workers."""
