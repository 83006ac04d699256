"""Alert rules, and the alerts that they open."""
