"""The worker: takes runs from its queue, starts detached trainers, uploads what they write, carries out controls.

It holds nothing that a restart would miss: trainers go on without it and are found again, and how far their files
are uploaded is the server's knowledge.
"""
