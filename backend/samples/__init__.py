"""Groups that are kept with their responses as text."""
