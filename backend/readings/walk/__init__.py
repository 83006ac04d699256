"""Steps walked line by line next to their method's rule."""
