"""Projects: what runs belong to, and who is a member."""
