"""Files that travel to browsers as they are: scripts and styles, documents, reports."""
