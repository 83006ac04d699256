"""Users, managed by administrators."""
