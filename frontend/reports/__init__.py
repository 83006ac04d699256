"""Downloads of reports: runs and studies as one HTML file."""
