"""Files of users: uploads, data and models, artifacts, and the disk that they take."""
