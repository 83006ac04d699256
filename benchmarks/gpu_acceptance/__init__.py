"""Is a machine with a GPU fit for this software? Each question is measured, held against a threshold, and answered."""
