"""The queue: which runs wait, why, and what runs where."""
