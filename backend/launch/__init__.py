"""Ways in which runs come about: configs, submissions, studies, imports."""
