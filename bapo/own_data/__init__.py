"""Data that people bring: read, mapped to our columns and checked in full before it can be trained on."""
