"""Several runs side by side: their series in one answer, what sets them apart, what they reached and for what."""
