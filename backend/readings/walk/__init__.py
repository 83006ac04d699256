"""Steps walked line by line beside their method's rule."""
